package main

import (
	"context"
	"fmt"
	"os"
)

// A sample is what one run of one contender gave: figures by name.
type sample map[string]float64

// A contender is one of the programs measured side by side. Its run prepares,
// runs, checks and tidies up; only the program itself is within the figures.
type contender struct {
	name string
	run  func(context.Context) (sample, error)
}

// series are all samples of one contender, in order.
type series []sample

func (s series) of(figure string) []float64 {
	values := make([]float64, 0, len(s))
	for _, x := range s {
		if v, ok := x[figure]; ok {
			values = append(values, v)
		}
	}
	return values
}

// play runs the contenders in turn, once unmeasured and then for so many
// rounds: A B A B …, so that what the machine does meanwhile falls on all alike.
func play(ctx context.Context, rounds int, contenders ...contender) (map[string]series, error) {
	got := make(map[string]series)
	for round := range rounds + 1 {
		for _, c := range contenders {
			x, err := c.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			fmt.Fprintf(os.Stderr, "  round %d: %s %s\n", round, c.name, x)
			if round > 0 {
				got[c.name] = append(got[c.name], x)
			}
		}
	}
	return got, nil
}
