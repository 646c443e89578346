func f() {
	if ok {
		newer()
		more()
	}
}
