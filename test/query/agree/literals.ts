/** Literals of every kind: tame values and the limits of each type. */

import { type Expression, type LiteralTypeName, PARTS, SPANS, UNITS } from 'gatehouse-iql'
import type { Choice } from './choice.ts'
import { TEXTS, WILD_TEXTS } from './data.ts'
import type { ArgumentOf, Kind } from './kinds.ts'

const at = 0

export function writeLiteral(choice: Choice, kind: ArgumentOf, isTame: boolean): Expression {
  switch (kind) {
    case 'Text':
      return text(choice.of(isTame || choice.oneIn(2) ? TEXTS : WILD_TEXTS))
    case 'Integer':
      return number(choice.of(isTame || choice.oneIn(2) ? INTEGERS : WILD_INTEGERS))
    case 'Decimal':
      return number(choice.of(isTame || choice.oneIn(2) ? DECIMALS : WILD_DECIMALS))
    case 'Double':
      return choice.oneIn(4) ? special(choice) : number(choice.of(isTame || choice.oneIn(2) ? DOUBLES : WILD_DOUBLES))
    case 'Boolean':
      return { kind: 'boolean', value: choice.oneIn(2), at }
    case 'Binary':
      return { kind: 'bytes', hex: choice.of(['', '00', 'ff', '000102', '27']), at }
    case 'Timestamp':
    case 'LocalTimestamp':
    case 'Date':
    case 'Time':
    case 'Uuid':
    case 'Json':
      return typed(kind, choice.of(TYPED[kind]))
    case 'Fixed':
      return typed('Interval', choice.of(isTame ? FIXED.slice(0, 5) : FIXED))
    case 'Months':
      return typed('Interval', choice.of(isTame ? MONTHS.slice(0, 3) : MONTHS))
    case 'part':
      return text(choice.of(PARTS))
    case 'time-part':
      return text(choice.of(['hour', 'minute', 'second', 'millisecond', 'microsecond']))
    // The type of the result depends on it.
    case 'fine':
      return text('second')
    case 'unit':
      return text(choice.of(UNITS))
    case 'span':
      return text(choice.of(SPANS))
    case 'digits':
      return number(choice.of(['0', '1', '2', '6', '18']))
    case 'fraction':
      return number(choice.of(['0', '1', '0.5', '0.25', '0.9', '0.12345678901234567']))
    case 'zone':
      return text(choice.of(ZONES))
    case 'bucket':
      return typed('Interval', choice.of(['1 month', '3 months', '1 year', '7 months', '100 years']))
  }
}

const ZONES = [
  'America/New_York',
  'Europe/Dublin',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'America/Sao_Paulo',
  'Asia/Gaza',
  'UTC',
]

const INTEGERS = ['0', '1', '2', '3', '-1', '10', '-7']
const WILD_INTEGERS = ['9223372036854775807', '-9223372036854775808', '4294967296', '2147483648', '1000000']
const DECIMALS = ['0.0', '1.5', '-2.25', '0.1', '10.00', '2.5']
const WILD_DECIMALS = [
  '99999999999999999999.99',
  '0.000000000000000001',
  '-0.5',
  '12345678901234567890123456789012345678',
]
const DOUBLES = ['0e0', '1e0', '-2.5e0', '1e-1', '1e2', '25e-1']
const WILD_DOUBLES = ['1.7976931348623157e308', '5e-324', '1e16', '-1e-7', '123456789e3', '1e22']

const TYPED = {
  Timestamp: [
    '2026-01-30T10:01:00Z',
    '2024-02-29T00:00:00.000001Z',
    '2025-11-02T05:30:00Z',
    '2026-03-08T07:00:00Z',
    '2011-12-30T09:59:59.999999Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999Z',
  ],
  LocalTimestamp: [
    '2026-01-30T10:01:00',
    '2026-03-08T02:30',
    '2025-11-02T01:30:00.000001',
    '0001-01-01',
    '9999-12-31T23:59:59.999999',
  ],
  Date: ['2026-01-30', '2024-02-29', '0001-01-01', '9999-12-31'],
  Time: ['00:00', '09:30:00', '23:59:59.999999'],
  Uuid: ['123e4567-e89b-12d3-a456-426614174000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  Json: ['{"a": [1, 2]}', '[10, {"b": "x"}]', '"a"', 'null', '{"a": 1e2}'],
} as const

const FIXED = [
  '5 minutes',
  '1 day 12 hours',
  '-1 hour',
  '1 microsecond',
  '2 weeks',
  '0 seconds',
  '3660000 days',
  '-3660000 days',
]
const MONTHS = ['1 month', '-1 year', '1 month 3 days', '120000 months', '-25 months -1 microsecond']

const WORDS = ['NaN', 'Infinity', '-Infinity', '-0']

/** Values that have no literal. */
function special(choice: Choice): Expression {
  const type = { name: { text: 'Double', at }, arguments: [] }
  return { kind: 'cast', operand: text(choice.of(WORDS)), type, at }
}

export function text(value: string): Expression {
  return { kind: 'text', value, at }
}

export function number(written: string): Expression {
  if (!written.startsWith('-')) return { kind: 'number', text: written, at }
  return { kind: 'unary', operator: '-', operand: { kind: 'number', text: written.slice(1), at }, at }
}

function typed(type: LiteralTypeName, value: string): Expression {
  return { kind: 'typed', type, value, at }
}

/** The type in a CAST to the kind. */
export function readTypeName(choice: Choice, kind: Kind): { name: string; arguments: readonly number[] } {
  if (kind !== 'Decimal') return { name: kind, arguments: [] }
  return {
    name: kind,
    arguments: choice.of([
      [18, 4],
      [9, 2],
      [5, 0],
      [18, 18],
      [12, 6],
      [38, 10],
    ]),
  }
}
