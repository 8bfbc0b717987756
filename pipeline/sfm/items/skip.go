package items

// skip passes over a value with all that is in it. Most of an answer is passed over, which is
// why this is a loop, where object and array call themselves.
func (c *cursor) skip() {
	open := c.open[:0] // the brackets that are owed
	for {
		switch ch := c.peek(); ch {
		case '{', '[':
			end := ch + 2 // as ASCII has it
			c.i++
			if open = append(open, end); len(open)+c.depth > maxDepth {
				c.err = errDeep
			}
			if c.peek() != end {
				if ch == '{' {
					c.key()
				}
				if c.err == nil {
					continue
				}
			}
		default:
			c.scalar(ch)
		}
		if open = c.close(open); len(open) == 0 || c.err != nil {
			c.open = open
			return
		}
	}
}

// close steps over what ends behind a value, up to the next value; it returns the brackets that
// are still owed.
func (c *cursor) close(open []byte) []byte {
	for len(open) > 0 && c.err == nil {
		end := open[len(open)-1]
		if c.peek() == end {
			c.i++
			open = open[:len(open)-1]
			continue
		}
		if c.take(',', "a comma") && end == '}' {
			c.key()
		}
		break
	}
	return open
}

// key is the key of a member, as by str; the colon is behind it.
func (c *cursor) key() []byte {
	key := c.str()
	if c.peek() == ':' {
		c.i++
	} else {
		c.fail("a colon")
	}
	return key
}

// scalar passes over a value that is no object and no array, and begins with ch.
func (c *cursor) scalar(ch byte) {
	switch ch {
	case '"':
		c.str()
	case 't':
		c.literal("true")
	case 'f':
		c.literal("false")
	case 'n':
		c.literal("null")
	default:
		c.number()
	}
}
