package api

import "math"

// AttainmentBand says how far a key result is from its target.
type AttainmentBand string

// The bands of attainment. The dashboard shows them in green, amber and red.
const (
	OnTarget   AttainmentBand = "on_target"   // the target is reached
	NearTarget AttainmentBand = "near_target" // at least NearShare of it
	OffTarget  AttainmentBand = "off_target"
)

// NearShare is the attainment from which a key result is near its target.
const NearShare = 0.8

// BandOf returns the band of an attainment from 0 to 1.
func BandOf(share float64) AttainmentBand {
	switch {
	case share >= 1:
		return OnTarget
	case share >= NearShare:
		return NearTarget
	}
	return OffTarget
}

// attainedShare returns the attainment of a key result: how much of its target it has
// reached, from 0 to 1. It returns false if there is no value yet. The formula
// depends on the direction:
//
//   - increase: 1 if the value is at or above the target. Otherwise
//     (value - baseline) / (target - baseline) if the baseline is below the target,
//     else value / target if the target is positive, else 0.
//   - decrease: 1 if the value is at or below the target. Otherwise
//     (baseline - value) / (baseline - target) if the baseline is above the target,
//     else target / value if the target is positive, else 0.
//   - maintain: 1 - |value - target| / |target|, but at least 0. With a target of 100,
//     95 and 105 both give 0.95. If the target is 0, the result is 1 for the value 0
//     and 0 for other values. The baseline is not used.
func attainedShare(direction string, baseline *float64, target float64, value *float64) (float64, bool) {
	if value == nil {
		return 0, false
	}
	switch direction {
	case "increase":
		return increaseShare(baseline, target, *value), true
	case "decrease":
		return decreaseShare(baseline, target, *value), true
	}
	return maintainShare(target, *value), true
}

func increaseShare(baseline *float64, target, v float64) float64 {
	switch {
	case v >= target:
		return 1
	case baseline != nil && *baseline < target:
		return fraction(v-*baseline, target-*baseline)
	case target > 0:
		return fraction(v, target)
	}
	return 0
}

func decreaseShare(baseline *float64, target, v float64) float64 {
	switch {
	case v <= target:
		return 1
	case baseline != nil && *baseline > target:
		return fraction(*baseline-v, *baseline-target)
	case target > 0:
		return fraction(target, v)
	}
	return 0
}

func maintainShare(target, v float64) float64 {
	switch {
	case v == target:
		return 1
	case target == 0:
		return 0
	}
	return 1 - fraction(math.Abs(v-target), math.Abs(target))
}

// fraction divides two numbers and limits the result to 0 to 1. The result is 0 if it
// is not a number, because a difference of very large numbers overflowed.
func fraction(dividend, divisor float64) float64 {
	f := dividend / divisor
	if math.IsNaN(f) {
		return 0
	}
	return min(max(f, 0), 1)
}
