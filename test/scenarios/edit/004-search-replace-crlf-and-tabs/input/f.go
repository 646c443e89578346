func f() {
	if ok {
		old()
	}
}
