package pump

import (
	"fmt"
	"strconv"
	"strings"
)

// matchingLine is the line of a configuration that asks for the argument a queue has, out of
// what RabbitMQ says of a declaration with another one:
//
//	inequivalent arg 'x-expires' for queue 'q' in vhost '/': received the value '86400000'
//	of type 'signedint' but current is the value '300000' of type 'long'
//
// It is empty when no option sets that argument.
func matchingLine(reason string) string {
	argument, ok := between(reason, "inequivalent arg '", "'")
	if !ok {
		return ""
	}
	option, ok := map[string]string{"x-expires": "expire", "x-message-ttl": "message_ttl", "durable": "durable", "x-queue-type": "queue_type"}[argument]
	if !ok {
		return ""
	}
	_, current, _ := strings.Cut(reason, "but current is ")
	value, there := between(current, "'", "'")
	switch {
	case !there && strings.HasPrefix(current, "none") && argument == "x-queue-type":
		return option + " classic"
	case !there && strings.HasPrefix(current, "none"):
		return option + " none"
	case !there:
		return ""
	}
	return option + " " + optionValue(argument, value)
}

// optionValue writes a broker's value as the option has it: times in seconds, as fractions only where
// they are.
func optionValue(argument, value string) string {
	switch argument {
	case "durable":
		return map[string]string{"true": "on", "false": "off"}[value]
	case "x-queue-type":
		return value
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	if ms%1000 == 0 {
		return fmt.Sprintf("%ds", ms/1000)
	}
	return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64)
}

// between returns what stands in s between the first of two marks and the second.
func between(s, from, to string) (string, bool) {
	_, rest, ok := strings.Cut(s, from)
	if !ok {
		return "", false
	}
	found, _, ok := strings.Cut(rest, to)
	return found, ok
}
