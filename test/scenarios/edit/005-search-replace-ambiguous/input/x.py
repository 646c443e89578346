a = 1
return a

b = 1
return a
