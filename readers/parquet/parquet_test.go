package parquet

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
)

// testTable is the rows of a file.
type testTable struct {
	columns []Column
	groups  []testGroup
}

type testGroup struct {
	rows   int
	starts []int
	values []Values
}

func (table *testTable) encode(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, table.columns, Options{Meta: []Pair{{"varve", "{}"}}})
	for _, g := range table.groups {
		if err := w.RowGroup(g.rows, g.starts, g.values); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll reads every value of a file.
func readAll(data []byte) (rows int64, err error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return 0, err
	}
	for g := range f.Groups {
		err := eachPage(f, g, func(_, _ int, v *Values) error {
			rows += int64(len(v.Ints) + len(v.Bytes))
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return rows / int64(len(f.Columns)), nil
}

func eachPage(f *File, group int, do func(column, start int, v *Values) error) error {
	l, err := f.Layout(group)
	if err != nil {
		return err
	}
	for column := range f.Columns {
		var dictionary *Dictionary
		if f.HasDictionary(group, column) {
			if dictionary, err = f.Dictionary(group, column); err != nil {
				return err
			}
		}
		for page := range l.Pages() {
			var v Values
			if err := f.Page(group, l, column, page, dictionary, &v); err != nil {
				return err
			}
			start, _ := l.Rows(page)
			if err := do(column, start, &v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (table *testTable) check(t *testing.T, data []byte) {
	t.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(f.Columns) != fmt.Sprint(table.columns) || len(f.Groups) != len(table.groups) {
		t.Fatalf("got columns %v in %d groups, want %v in %d", f.Columns, len(f.Groups), table.columns, len(table.groups))
	}
	for i, g := range table.groups {
		err := eachPage(f, i, func(column, start int, v *Values) error {
			return compare(&g.values[column], v, start)
		})
		if err != nil {
			t.Fatalf("group %d: %v", i, err)
		}
	}
}

// compare compares the values of a page with those that were written.
func compare(want, got *Values, start int) error {
	for i := range len(got.Ints) + len(got.Bytes) {
		row := start + i
		null := want.Ints == nil && want.Bytes == nil || want.Null(row)
		if got.Null(i) != null {
			return fmt.Errorf("row %d: null is %v, want %v", row, got.Null(i), null)
		}
		if !null && want.Ints != nil && got.Ints[i] != want.Ints[row] {
			return fmt.Errorf("row %d: got %d, want %d", row, got.Ints[i], want.Ints[row])
		}
		if !null && want.Bytes != nil && !bytes.Equal(got.Bytes[i], want.Bytes[row]) {
			return fmt.Errorf("row %d: got %q, want %q", row, got.Bytes[i], want.Bytes[row])
		}
	}
	return nil
}

// randomTable makes a table with all types, and values that repeat more or less.
func randomTable(rng *rand.Rand) *testTable {
	table := &testTable{}
	for i := range 1 + rng.IntN(8) {
		table.columns = append(table.columns, Column{fmt.Sprintf("column%d", i), Type(rng.IntN(4)), rng.IntN(2) == 0})
	}
	for range rng.IntN(4) {
		g := testGroup{rows: 1 + rng.IntN(1+rng.IntN(2000))}
		for start := 0; start < g.rows; start += 1 + rng.IntN(300) {
			g.starts = append(g.starts, start)
		}
		for _, c := range table.columns {
			g.values = append(g.values, randomValues(rng, c, g.rows))
		}
		table.groups = append(table.groups, g)
	}
	return table
}

func randomValues(rng *rand.Rand, c Column, rows int) (v Values) {
	if c.Optional && rng.IntN(4) == 0 {
		return v
	}
	distinct := 1 + rng.IntN(1+rng.IntN(10000))
	spread := rng.Uint64() >> rng.IntN(64)
	nulls := c.Optional && rng.IntN(3) > 0
	rate := rng.IntN(100)
	null := false
	for range rows {
		value := uint64(rng.IntN(distinct)) * spread
		if c.Type == Int {
			v.Ints = append(v.Ints, int64(value))
		} else {
			v.Bytes = append(v.Bytes, fmt.Append(nil, value%uint64(distinct)))
		}
		if nulls {
			if rng.IntN(100) < rate {
				null = !null
			}
			present := uint8(1)
			if null {
				present = 0
			}
			v.Present = append(v.Present, present)
		}
	}
	return v
}

func TestRandomTables(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 300 {
		table := randomTable(rng)
		data := table.encode(t)
		if !bytes.Equal(data, table.encode(t)) {
			t.Fatalf("seed %d, table %d: equal rows give other bytes", seed, i)
		}
		table.check(t, data)
		if t.Failed() {
			t.Fatalf("seed %d, table %d", seed, i)
		}
	}
}

func TestDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 31, 32, 33, 34, 128, 129, 130, 1000} {
		for width := 0; width <= 64; width++ {
			values := make([]int64, n)
			for i := range values {
				if width > 0 {
					values[i] = int64(rng.Uint64() >> (64 - width))
				}
			}
			if n > 2 {
				values[n/2], values[n-1] = math.MinInt64, math.MaxInt64
			}
			data := appendDelta(nil, values)
			got := make([]int64, n)
			if err := readDelta(got, data); err != nil {
				t.Fatalf("%d values of %d bits: %v", n, width, err)
			}
			for i := range got {
				if got[i] != values[i] {
					t.Fatalf("%d values of %d bits: value %d: got %d, want %d", n, width, i, got[i], values[i])
				}
			}
		}
	}
}

// TestEveryBit flips each bit of a file, and checks that the damage is found or changes nothing.
func TestEveryBit(t *testing.T) {
	table := &testTable{
		columns: []Column{{"n", Int, true}, {"s", Text, false}, {"one", Int, false}},
		groups: []testGroup{{rows: 9, starts: []int{0, 4}, values: []Values{
			{Ints: []int64{5, 1 << 40, 7, 8, 9, 1, 2, 3, 4}, Present: []uint8{1, 1, 0, 1, 1, 0, 0, 1, 1}},
			{Bytes: bytes.Fields([]byte("a b a b a b a b a"))},
			{Ints: []int64{3, 3, 3, 3, 3, 3, 3, 3, 3}},
		}}},
	}
	data := table.encode(t)
	table.check(t, data)
	unnoticed := 0
	for i := range 8 * len(data) {
		bad := bytes.Clone(data)
		bad[i/8] ^= 1 << (i % 8)
		f, err := Open(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			continue
		}
		err = eachPage(f, 0, func(column, start int, v *Values) error {
			if err := compare(&table.groups[0].values[column], v, start); err != nil {
				t.Errorf("bit %d of byte %d of %d: column %d: %v", i%8, i/8, len(data), column, err)
			}
			return nil
		})
		if err == nil {
			unnoticed++
		}
	}
	t.Logf("%d of %d bits change nothing that is read", unnoticed, 8*len(data))
}

// TestWorkedExamples checks the bytes of the examples in the comments on both encodings.
func TestWorkedExamples(t *testing.T) {
	delta := appendDelta(nil, []int64{7, 9, 12})
	if want := "\x80\x01\x04\x03\x0e\x04\x01\x00\x00\x00\x02\x00\x00\x00"; string(delta) != want {
		t.Errorf("delta: got % x, want % x", delta, want)
	}
	bits := append(bytes.Repeat([]byte{1}, 20), 0, 1, 0)
	if got, want := appendHybrid(nil, bits, 1), "\x28\x01\x03\x02"; string(got) != want {
		t.Errorf("hybrid: got % x, want % x", got, want)
	}
}
