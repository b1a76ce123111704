/** Proves from an expression alone how long its text can be, for any row and any parameters. */

import type { ScalarId } from '../functions/functions.ts'
import type { Arithmetic, BoundCall, BoundExpression } from './bound-query.ts'

/** Functions whose result can be much longer than their arguments. */
export type GrowingId = 'repeat' | 'replace' | 'lpad' | 'rpad'

export function isGrowing(id: ScalarId): id is GrowingId {
  return id === 'repeat' || id === 'replace' || id === 'lpad' || id === 'rpad'
}

/** A text that is proven to be no longer is not checked when it is created. */
export const SMALL_TEXT_BYTES = 1024

/** Numbers, times and Uuids are written in fewer characters. */
const LONGEST_PLAIN_VALUE = 100
const CHARACTER_BYTES = 4

export function isSmallText(node: BoundExpression): boolean {
  return isTextWithin(node, SMALL_TEXT_BYTES)
}

export function isTextWithin(node: BoundExpression, bytes: number): boolean {
  return textBound(node) <= bytes
}

/** The operands of a || b || c, from left to right. */
export function concatOperands(node: Arithmetic): BoundExpression[] {
  const operands: BoundExpression[] = []
  let left: BoundExpression = node
  for (; left.kind === 'arithmetic' && left.operator === 'text||text'; left = left.left) operands.push(left.right)
  operands.push(left)
  return operands.reverse()
}

/** An upper bound of the bytes in UTF-8; Infinity where the expression alone sets none. */
function textBound(node: BoundExpression): number {
  if (node.type.kind === 'Null') return 0
  if (node.type.kind !== 'Text') return node.type.kind === 'Json' ? Number.POSITIVE_INFINITY : LONGEST_PLAIN_VALUE
  switch (node.kind) {
    case 'literal':
      return typeof node.value === 'string' ? utf8Bytes(node.value) : 0
    case 'cast':
      return node.operand.type.kind === 'Binary' ? Number.POSITIVE_INFINITY : textBound(node.operand)
    case 'widen':
    case 'fit':
      return textBound(node.operand)
    case 'arithmetic':
      return concatOperands(node).reduce((sum, operand) => sum + textBound(operand), 0)
    case 'coalesce':
      return Math.max(...node.arguments.map(textBound))
    case 'case':
      return Math.max(
        ...node.branches.map(({ result }) => textBound(result)),
        node.otherwise === undefined ? 0 : textBound(node.otherwise),
      )
    case 'call':
      return callBound(node)
    default:
      return Number.POSITIVE_INFINITY
  }
}

function callBound({ function: name, arguments: args }: BoundCall): number {
  const [first, second, third] = args
  if (first === undefined) return 0
  switch (name) {
    case 'concat':
      return args.reduce((sum, argument) => sum + textBound(argument), 0)
    case 'trim':
    case 'ltrim':
    case 'rtrim':
    case 'split_part':
    case 'reverse':
      return textBound(first)
    case 'left':
    case 'right':
      // With a negative count all but some of the characters.
      return isNegative(second) ? textBound(first) : Math.min(textBound(first), CHARACTER_BYTES * literalCount(second))
    case 'substr':
      return Math.min(textBound(first), CHARACTER_BYTES * literalCount(third))
    case 'lpad':
    case 'rpad':
      return CHARACTER_BYTES * literalCount(second)
    case 'repeat':
      return textBound(first) * literalCount(second)
    case 'replace':
      return isShrinking(args) ? textBound(first) : Number.POSITIVE_INFINITY
    default:
      return Number.POSITIVE_INFINITY
  }
}

/** Whether a replacement cannot be longer than what it replaces. */
export function isShrinking([, part, by]: readonly BoundExpression[]): boolean {
  return part?.kind === 'literal' && typeof part.value === 'string' && by !== undefined
    ? textBound(by) <= utf8Bytes(part.value)
    : false
}

function isNegative(node: BoundExpression | undefined): boolean {
  return node?.kind === 'literal' && typeof node.value === 'bigint' && node.value < 0n
}

function literalCount(node: BoundExpression | undefined): number {
  if (node?.kind !== 'literal' || typeof node.value !== 'bigint') return Number.POSITIVE_INFINITY
  return Math.max(0, Number(node.value))
}

function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x80) continue
    // Each half of a surrogate pair counts two of its four bytes.
    bytes += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2
  }
  return bytes
}
