package web_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"testing"
)

// A golden picture of a page is stored in 16 shades of grey at a quarter of its size. It
// shows where texts and areas are. It does not show how a browser draws letters.
const (
	pictureScale  = 4
	pictureShades = 16
	// cellSize is the size of a compared area, in pixels of the picture.
	cellSize = 2
	// cellTolerance is the difference of shade, from 0 to 255, that letters of another
	// browser cause. A cell may also be where its neighbour was.
	cellTolerance = 28
	// maxDifference is the share of cells that may differ. TestPictures and
	// TestBrowserGolden_FindsBrokenLayout show what lies beyond it.
	maxDifference = 0.01
)

// shrink returns a screenshot as a golden picture.
func shrink(screenshot image.Image) *image.Paletted {
	bounds := screenshot.Bounds()
	full := image.NewGray(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(full, full.Rect, screenshot, bounds.Min, draw.Src)
	small := average(full, pictureScale)
	picture := image.NewPaletted(small.Rect, shades())
	for i, value := range small.Pix {
		picture.Pix[i] = uint8((int(value)*(pictureShades-1) + 127) / 255)
	}
	return picture
}

func shades() color.Palette {
	palette := make(color.Palette, pictureShades)
	for i := range palette {
		palette[i] = color.Gray{uint8(i * 255 / (pictureShades - 1))}
	}
	return palette
}

// average returns a picture whose pixels are the averages of size by size pixels.
func average(full *image.Gray, size int) *image.Gray {
	small := image.NewGray(image.Rect(0, 0, full.Rect.Dx()/size, full.Rect.Dy()/size))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			sum := 0
			for dy := range size {
				for dx := range size {
					sum += int(full.Pix[(y*size+dy)*full.Stride+x*size+dx])
				}
			}
			small.Pix[y*small.Stride+x] = uint8(sum / (size * size))
		}
	}
	return small
}

// cells returns the shades of the compared areas of a picture.
func cells(picture image.Image) *image.Gray {
	grey := image.NewGray(picture.Bounds())
	draw.Draw(grey, grey.Rect, picture, grey.Rect.Min, draw.Src)
	return average(grey, cellSize)
}

// difference returns the share of the cells of two pictures that differ. Where one of
// them is larger, all cells differ.
func difference(a, b image.Image) float64 {
	one, other := cells(a), cells(b)
	width, height := max(one.Rect.Dx(), other.Rect.Dx()), max(one.Rect.Dy(), other.Rect.Dy())
	differ := 0
	for y := range height {
		for x := range width {
			if !hasShade(one, other, x, y) || !hasShade(other, one, x, y) {
				differ++
			}
		}
	}
	return float64(differ) / float64(width*height)
}

// hasShade reports whether the shade of a cell is also at its place in another picture, or
// beside it.
func hasShade(of, in *image.Gray, x, y int) bool {
	at := image.Pt(x, y)
	if !at.In(of.Rect) || !at.In(in.Rect) {
		return false
	}
	want := int(of.GrayAt(x, y).Y)
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			if near := image.Pt(x+dx, y+dy); near.In(in.Rect) {
				if d := int(in.GrayAt(near.X, near.Y).Y) - want; -cellTolerance <= d && d <= cellTolerance {
					return true
				}
			}
		}
	}
	return false
}

// encodePicture returns a picture as a PNG with 4 bits a pixel.
func encodePicture(t *testing.T, picture *image.Paletted) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPictures compares a drawn page with changes of it. Those of letters are within the
// tolerance, those of the layout are not.
func TestPictures(t *testing.T) {
	t.Parallel()
	// A page with a dark column, and a card with lines of text.
	drawn := func(change func(*image.Gray)) image.Image {
		page := image.NewGray(image.Rect(0, 0, 800, 600))
		fill(page, page.Rect, 245)
		fill(page, image.Rect(0, 0, 200, 600), 90)
		for line := range 20 {
			fill(page, image.Rect(240, 40+20*line, 700, 52+20*line), 160)
		}
		change(page)
		return shrink(page)
	}
	golden := drawn(func(*image.Gray) {})
	for name, row := range map[string]struct {
		change func(*image.Gray)
		differ bool
	}{
		"nothing":                  {func(*image.Gray) {}, false},
		"letters a little lighter": {func(p *image.Gray) { fill(p, image.Rect(240, 40, 700, 52), 175) }, false},
		"a line 6 pixels longer":   {func(p *image.Gray) { fill(p, image.Rect(700, 40, 706, 52), 160) }, false},
		"a line is gone":           {func(p *image.Gray) { fill(p, image.Rect(240, 100, 700, 120), 245) }, true},
		"the column is gone":       {func(p *image.Gray) { fill(p, image.Rect(0, 0, 200, 600), 245) }, true},
		"the column is wider":      {func(p *image.Gray) { fill(p, image.Rect(200, 0, 230, 600), 90) }, true},
		"a card is over the lines": {func(p *image.Gray) { fill(p, image.Rect(300, 60, 500, 160), 20) }, true},
		"everything moves down": {func(p *image.Gray) {
			copy(p.Pix[60*p.Stride:], bytes.Clone(p.Pix[:540*p.Stride]))
		}, true},
	} {
		if got := difference(golden, drawn(row.change)); got > maxDifference != row.differ {
			t.Errorf("%s: the difference is %.4f, and %.4f is allowed", name, got, maxDifference)
		}
	}
	if got := difference(golden, shrink(image.NewGray(image.Rect(0, 0, 800, 700)))); got < 0.1 {
		t.Errorf("a taller page: the difference is %.4f", got)
	}
}

func fill(page *image.Gray, area image.Rectangle, shade uint8) {
	draw.Draw(page, area, image.NewUniform(color.Gray{shade}), image.Point{}, draw.Src)
}
