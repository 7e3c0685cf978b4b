package api

import "math"

// attainedShare is how much of its target a key result has reached, from 0 to 1;
// false before it has a value.
//
//   - increase: 1 from the target on. Below it, the way from the baseline to the
//     target that the value has come; without a baseline, or with one that is not
//     below the target, the value's share of a positive target, else 0.
//   - decrease: 1 from the target downwards. Above it, the same way downwards;
//     without a baseline above the target, a positive target's share of the value,
//     else 0.
//   - maintain: 1 at the target, and less by the distance from it, to either
//     side, relative to it: 95 and 105 of 100 are 0.95. A target of 0 is met or
//     missed. The baseline does not count.
func attainedShare(direction string, baseline *float64, target float64, value *float64) (float64, bool) {
	if value == nil {
		return 0, false
	}
	switch direction {
	case "increase":
		return rise(baseline, target, *value), true
	case "decrease":
		return fall(baseline, target, *value), true
	}
	return steady(target, *value), true
}

func rise(baseline *float64, target, v float64) float64 {
	switch {
	case v >= target:
		return 1
	case baseline != nil && *baseline < target:
		return share(v-*baseline, target-*baseline)
	case target > 0:
		return share(v, target)
	}
	return 0
}

func fall(baseline *float64, target, v float64) float64 {
	switch {
	case v <= target:
		return 1
	case baseline != nil && *baseline > target:
		return share(*baseline-v, *baseline-target)
	case target > 0:
		return share(target, v)
	}
	return 0
}

func steady(target, v float64) float64 {
	switch {
	case v == target:
		return 1
	case target == 0:
		return 0
	}
	return 1 - share(math.Abs(v-target), math.Abs(target))
}

// share is a part of a whole, between 0 and 1; numbers so large that their
// difference is none of a double's make 0.
func share(part, whole float64) float64 {
	s := part / whole
	if math.IsNaN(s) {
		return 0
	}
	return min(max(s, 0), 1)
}
