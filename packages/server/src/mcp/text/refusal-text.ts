/** A refusal of the query service or of a feed as a text that teaches: what is wrong, where, what was expected, and one example that works. */
import { caretPicture, type Position } from 'gatehouse-iql'
import type { Refusal } from 'gatehouse-protocol'
import { escapeText, shortText } from './escape.ts'

const MOST_EXPECTED = 20

export interface Lesson {
  readonly hint?: string | undefined
  /** The statement that failed, as it runs. */
  readonly corrected?: string | undefined
  /** Another one that runs, or a call. */
  readonly example?: string | undefined
}

export function refusalText(
  refusal: Refusal,
  statement: string | undefined,
  { hint: advice, corrected, example }: Lesson,
): string {
  const { Position: position, Expected: expected, Hint: hint } = refusal.details.members ?? {}
  const lines = [`${refusal.code}: ${shortText(refusal.message, 1000)}`]
  if (statement !== undefined && isPosition(position)) lines.push(visible(caretPicture(statement, position)))
  if (Array.isArray(expected) && expected.length > 0) {
    const shown = expected.slice(0, MOST_EXPECTED).map((word) => shortText(String(word)))
    lines.push(`Expected: ${shown.join(', ')}${expected.length > shown.length ? ', …' : ''}`)
  }
  const hints = [hint, advice].filter((text) => typeof text === 'string')
  lines.push(...hints.map((text) => `Hint: ${shortText(text, 600)}`))
  // Nothing in it has to be escaped, or there is none: it can be copied.
  if (corrected !== undefined) lines.push(`Corrected: ${corrected}`)
  if (example !== undefined) lines.push(`This works: ${escapeText(example)}`)
  return lines.join('\n')
}

/** With as many characters: the caret stays where it points to. */
function visible(picture: string): string {
  return picture.replace(/[^\n\\]/gu, (character) => (escapeText(character).length > 2 ? '�' : character))
}

function isPosition(value: unknown): value is Position {
  return typeof value === 'object' && value !== null && 'Offset' in value && 'Line' in value && 'Column' in value
}
