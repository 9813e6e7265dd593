package main

import "testing"

// at makes an operation of key 1.
func at(call, ret, value int64, what outcome, stored int64) operation {
	return operation{key: 1, value: value, call: call, ret: ret, outcome: what, stored: stored}
}

func TestJudge(t *testing.T) {
	cases := []struct {
		name     string
		accepted bool
		history  []operation
	}{
		{"one writes, another learns it", true, []operation{
			at(0, 10, 1, fresh, 1), at(20, 30, 2, duplicate, 1)}},
		{"a duplicate may return first, if both ran at once", true, []operation{
			at(0, 50, 1, fresh, 1), at(10, 20, 2, duplicate, 1)}},
		{"a lost answer had an effect", true, []operation{
			at(0, 0, 1, unknown, 0), at(20, 30, 2, duplicate, 1)}},
		{"a lost answer had none", true, []operation{
			at(0, 0, 1, unknown, 0), at(20, 30, 2, fresh, 2), at(40, 50, 3, duplicate, 2)}},
		{"a lost answer takes effect long after", true, []operation{
			at(0, 0, 1, unknown, 0), at(100, 110, 2, duplicate, 1)}},
		{"nothing but lost answers", true, []operation{
			at(0, 0, 1, unknown, 0), at(0, 0, 2, unknown, 0)}},
		{"of two lost answers, the second had the effect", true, []operation{
			at(0, 0, 1, unknown, 0), at(0, 0, 2, unknown, 0), at(5, 9, 3, duplicate, 2)}},
		{"keys do not know of each other", true, []operation{
			at(0, 10, 1, fresh, 1), {key: 2, value: 2, call: 0, ret: 9, outcome: fresh, stored: 2}}},
		{"two write", false, []operation{
			at(0, 10, 1, fresh, 1), at(0, 10, 2, fresh, 2)}},
		{"two lost answers, and both had an effect", false, []operation{
			at(0, 0, 1, unknown, 0), at(0, 0, 2, unknown, 0), at(5, 9, 3, duplicate, 2),
			at(5, 9, 4, duplicate, 1)}},
		{"a duplicate of an operation that has not begun", false, []operation{
			at(20, 30, 1, fresh, 1), at(0, 10, 2, duplicate, 1)}},
		{"a duplicate of an operation without effect", false, []operation{
			at(0, 10, 1, none, 0), at(20, 30, 2, duplicate, 1)}},
		{"fresh, with another's value", false, []operation{
			at(0, 0, 1, unknown, 0), at(20, 30, 2, fresh, 1)}},
		{"a duplicate of its own value", false, []operation{at(0, 10, 1, duplicate, 1)}},
	}
	for _, one := range cases {
		if got := judge(one.history); got.accepted != one.accepted {
			t.Errorf("%s: accepted is %t", one.name, got.accepted)
		}
	}
}

func TestCount(t *testing.T) {
	history := []operation{at(0, 10, 1, fresh, 1), at(20, 30, 2, duplicate, 1),
		at(20, 30, 3, none, 0)}
	for _, one := range []struct {
		name    string
		wrong   int
		effects map[int64]effect
	}{
		{"as answered", 0, map[int64]effect{1: {1, 1}}},
		{"no effect", 2, nil},
		{"the effect of what certainly had none", 3, map[int64]effect{1: {1, 3}}},
		{"a key that nobody used", 1, map[int64]effect{1: {1, 1}, 2: {1, 9}}},
	} {
		if got := compare(history, one.effects); len(got) != one.wrong {
			t.Errorf("%s: %v", one.name, got)
		}
	}
}
