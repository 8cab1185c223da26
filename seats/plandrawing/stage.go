package plandrawing

// stage is where the focal point is drawn.
type stage struct {
	at     point
	size   point
	isMark bool // without a text, because there are seats
}

// minExtent is how large a hall counts at least, where the distance of its focal point matters.
const minExtent = 20 * unit

// stageWidth is how wide the stage of a small hall is.
const stageWidth = 8 * unit

// newStage returns a stage at a focal point that is in proportion to its hall.
func newStage(at point, hall box, parts []*part) stage {
	const (
		part = 8 // times as wide is a hall
		flat = 5 // times as wide as high
	)
	width := max(stageWidth, hall.width()/part)
	s := stage{at: at, size: point{width, width / flat}}
	around := s.box().grown(radius)
	for _, p := range parts {
		for _, seat := range p.seats {
			s.isMark = s.isMark || around.has(seat)
		}
		for _, corner := range append(around.corners(), at) {
			s.isMark = s.isMark || isInside(p.outline, corner)
		}
	}
	return s
}

func (s stage) box() box {
	if s.isMark {
		return around(s.at, s.size.x/4, s.size.x/4)
	}
	return around(s.at, s.size.x, s.size.y)
}
