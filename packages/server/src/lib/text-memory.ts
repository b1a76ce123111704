/** The memory of a text: V8 holds one byte for each UTF-16 unit, and two in a text that has a unit beyond Latin-1. */

/** On a text of single bytes it fails at once: V8 knows that none of them can match. */
const WIDE = /[^\0-\xff]/

export function textBytes(text: string): number {
  return WIDE.test(text) ? 2 * text.length : text.length
}
