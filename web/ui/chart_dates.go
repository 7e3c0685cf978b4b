package ui

import "time"

// xTicks is the number of labels that fit below a chart on a narrow screen.
const xTicks = 5

// xAxis is the horizontal scale: of dates or, if a point has no date, of the places of the
// points.
type xAxis struct {
	labels   []string // of the longest series, without dates
	from, to time.Time
}

// newXAxis returns nil if there are no points.
func newXAxis(series []Series) *xAxis {
	var axis xAxis
	dated := true
	for _, s := range series {
		if len(s.Points) > len(axis.labels) {
			axis.labels = make([]string, len(s.Points))
			for i, p := range s.Points {
				axis.labels[i] = p.Label
			}
		}
		for _, p := range s.Points {
			dated = dated && !p.At.IsZero()
			if axis.from.IsZero() || p.At.Before(axis.from) {
				axis.from = p.At
			}
			if p.At.After(axis.to) {
				axis.to = p.At
			}
		}
	}
	if len(axis.labels) == 0 {
		return nil
	}
	if !dated {
		axis.from, axis.to = time.Time{}, time.Time{}
	}
	return &axis
}

// share returns how far from the left a point is, from 0 to 1.
func (a *xAxis) share(i int, p Point) float64 {
	switch {
	case a.from.IsZero() && len(a.labels) > 1:
		return float64(i) / float64(len(a.labels)-1)
	case a.from.IsZero():
		return .5
	}
	return TimeShare(p.At, a.from, a.to)
}

// TimeShare returns the place of an instant between two others, from 0 to 1.
func TimeShare(at, from, to time.Time) float64 {
	if !to.After(from) {
		return .5
	}
	return min(max(daysBetween(from, at)/daysBetween(from, to), 0), 1)
}

// daysBetween subtracts instants that are more than the 292 years of a duration apart.
func daysBetween(from, to time.Time) float64 {
	return (float64(to.UnixMilli()) - float64(from.UnixMilli())) / 86_400_000
}

func (a *xAxis) ticks() []Tick {
	if !a.from.IsZero() {
		return TimeTicks(a.from, a.to)
	}
	var ticks []Tick
	last := len(a.labels) - 1
	shown := min(last, xTicks-1) // distances between labels
	for i := 0; i <= shown; i++ {
		at := 0
		if shown > 0 {
			at = (i*last + shown/2) / shown
		}
		ticks = append(ticks, newTick(a.labels[at], a.share(at, Point{})))
	}
	return ticks
}

// TimeTicks returns the labels of an axis of dates: the first days of weeks, months or
// years, or the two ends if the axis is too short for them.
func TimeTicks(from, to time.Time) []Tick {
	from, to = from.UTC(), to.UTC()
	days := daysBetween(from, to)
	var ticks []Tick
	for _, step := range []int{1, 2, 7, 14} {
		if days/float64(step) <= xTicks-1 {
			return longEnough(dayTicks(from, to, step), from, to)
		}
	}
	step := 1
	for _, next := range []int{2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000, 36000} {
		if days/30.4/float64(step) <= xTicks-1 {
			break
		}
		step = next
	}
	format := "Jan 2006"
	if step >= 12 {
		format = "2006"
	}
	at := time.Date(from.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	if step > 12 {
		at = at.AddDate(-(from.Year() % (step / 12)), 0, 0)
	}
	for ; !at.After(to); at = at.AddDate(0, step, 0) {
		if !at.Before(from) {
			ticks = append(ticks, newTick(at.Format(format), TimeShare(at, from, to)))
		}
	}
	return longEnough(ticks, from, to)
}

func dayTicks(from, to time.Time, step int) []Tick {
	var ticks []Tick
	at := from.Truncate(24 * time.Hour)
	if at.Before(from) {
		at = at.AddDate(0, 0, 1)
	}
	for ; !at.After(to); at = at.AddDate(0, 0, step) {
		format := "2 Jan"
		if len(ticks) == 0 {
			format = "2 Jan 2006"
		}
		ticks = append(ticks, newTick(at.Format(format), TimeShare(at, from, to)))
	}
	return ticks
}

// longEnough returns the ticks, or the two ends of the axis if there are fewer than two.
func longEnough(ticks []Tick, from, to time.Time) []Tick {
	const day = "2 Jan 2006"
	switch {
	case len(ticks) > 1:
		return ticks
	case from.Format(day) == to.Format(day):
		return []Tick{newTick(from.Format(day), .5)}
	}
	return []Tick{newTick(from.Format(day), 0), newTick(to.Format(day), 1)}
}

// newTick anchors labels at the ends of an axis so that they stay inside.
func newTick(label string, share float64) Tick {
	tick := Tick{Label: label, At: Percentage(share), Anchor: "middle"}
	switch {
	case share < .05:
		tick.Anchor = "start"
	case share > .95:
		tick.Anchor = "end"
	}
	return tick
}
