package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// A workbook has texts as texts, whatever they look like, and no number that a spreadsheet rounds; what
// is too much for one worksheet is in the next.
func TestSheets(t *testing.T) {
	l := &look{format: formatFor("xlsx"), table: tableFor("feed")}
	var cut int64
	path := filepath.Join(t.TempDir(), "a.xlsx")
	s, err := newSheets(path, l, &cut)
	if err != nil {
		t.Fatal(err)
	}
	w := l.rows()
	w.cells = [][]cell{
		{{text, "=1+1"}, {text, "http://a.example/"}, {number, "12345678901234567890"}, {number, "7.5"}, {truth, "true"}, {}, {text, " a\x00\n\"<&_x000D_ "}},
		{{text, strings.Repeat("é", cellUnits-1) + "𝄞"}},
	}
	add := func(n int) {
		if err := s.add(w, n); err != nil {
			t.Fatal(err)
		}
	}
	add(0)
	s.(*sheets).row = sheetRows - 1
	add(1)
	add(0)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
	book, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	for name, want := range map[string]string{"Sheet1!A1": "id", "Sheet1!A2": "=1+1", "Sheet1!B2": "http://a.example/", "Sheet1!C2": "12345678901234567890",
		"Sheet1!D2": "7.5", "Sheet1!E2": "TRUE", "Sheet1!F2": "", "Sheet1!G2": " a\uFFFD\n\"<&_x000D_ ", "Sheet2!A1": "id", "Sheet2!A2": "=1+1",
		"Sheet1!A1048576": strings.Repeat("é", cellUnits-1)} {
		sheet, ref, _ := strings.Cut(name, "!")
		got, err := book.GetCellValue(sheet, ref)
		formula, _ := book.GetCellFormula(sheet, ref)
		if err != nil || got != want || formula != "" {
			t.Errorf("%s is %.40q (formula %q), %v, want %.40q", name, got, formula, err, want)
		}
	}
	if cut != 1 {
		t.Errorf("%d texts were cut", cut)
	}
	if kind, _ := book.GetCellType("Sheet1", "C2"); kind != excelize.CellTypeInlineString {
		t.Errorf("a long number is of type %v", kind)
	}
}
