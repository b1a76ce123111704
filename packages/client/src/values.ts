/** Values of results: exact by default, and in the types that the program wants. */
import { asObject } from './errors.ts'
import { random } from './random.ts'

/** How values are given. What is not set stays as it is described here. */
export interface ValueOptions {
  /**
   * Integers: `auto` is a number, or a bigint beyond 2^53, where a number would be wrong; `bigint` and `text` are always
   * that.
   */
  readonly integer?: 'auto' | 'bigint' | 'text' | undefined
  /** Decimals: text with all digits, or what this function makes of the text: `(text) => new Big(text)`. */
  readonly decimal?: ((text: string) => unknown) | undefined
  /** Timestamps: text in UTC, a `Date` (milliseconds only), or what this function makes: `Temporal.Instant.from`. */
  readonly timestamp?: 'text' | 'date' | ((text: string) => unknown) | undefined
}

/** A column of a result, as the server describes it. */
export interface Column {
  readonly name: string
  /** For example `Decimal(18, 4)`. */
  readonly type: string
  readonly nullable: boolean
}

type Decode = (value: unknown) => unknown

export class Values {
  readonly #options: ValueOptions

  constructor(options: ValueOptions = {}) {
    this.#options = options
  }

  /** JSON whose integers keep all their digits. */
  readonly parse = parseExact

  /** `Columns` of a reply, in order. */
  columns(description: unknown): Column[] {
    const columns: Column[] = []
    const described = asObject(description) as Record<string, { Ordinal: number; Type: string; Nullable: boolean }>
    for (const [name, { Ordinal, Type, Nullable }] of Object.entries(described))
      columns[Ordinal] = { name, type: Type, nullable: Nullable }
    return columns
  }

  /** Decodes a row in place, by names or by places; undefined when nothing has to be done. */
  decoder(columns: readonly Column[], isArray = false): ((row: object) => void) | undefined {
    const decoders = columns.flatMap(({ name, type }, index) => {
      const decode = this.#chooseDecoder(type)
      return decode === undefined ? [] : [[isArray ? index : name, decode] as const]
    })
    if (decoders.length === 0) return undefined
    return (object) => {
      const row = object as Record<string | number, unknown>
      for (const [key, decode] of decoders) {
        const value = row[key]
        if (value !== null && value !== undefined) row[key] = decode(value)
      }
    }
  }

  #chooseDecoder(type: string): Decode | undefined {
    const { integer, decimal, timestamp } = this.#options
    switch (type.split('(', 1)[0]) {
      case 'Integer':
        return integer === 'bigint' ? (value) => BigInt(value as number) : integer === 'text' ? String : undefined
      case 'Decimal':
        return decimal && ((value) => decimal(String(value)))
      // A LocalTimestamp stays text: a Date would need a zone.
      case 'Timestamp':
        if (timestamp === 'date') return (value) => new Date(String(value))
        return typeof timestamp === 'function' ? (value) => timestamp(String(value)) : undefined
      case 'Binary':
        return (value) => Uint8Array.from(atob(String(value)), (character) => character.charCodeAt(0))
      case 'Double':
        // NaN and the infinities are texts in JSON.
        return Number
      default:
        return undefined
    }
  }
}

/** Tells our own marks in a text from everything that a server could send. */
const MARK = random()
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** Few texts contain such long numbers; JSON.parse reads all other texts. */
export function parseExact(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  const marked = text.replace(TOKEN, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${MARK}${token}"` : token,
  )
  return JSON.parse(marked, (_, value) =>
    typeof value === 'string' && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  )
}

/** JSON in which bigints are numbers with all their digits, as `parseExact` reads them. */
export function writeExact(value: unknown): string {
  const text = JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? MARK + member : member))
  return text.replaceAll(new RegExp(`"${MARK}(-?\\d+)"`, 'g'), '$1')
}

/** What a parameter or a value to be written can be. */
export type Value = string | number | bigint | boolean | null | Date | Uint8Array | { toString(): string }

/**
 * A value as JSON carries it to the server, which reads texts by the type of their column: bigints and decimals stay
 * exact, a Date becomes a timestamp, bytes become Base64.
 */
export function encode(value: unknown): unknown {
  switch (typeof value) {
    case 'bigint':
      return String(value)
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'object':
      if (value === null || Array.isArray(value)) return value
      if (value instanceof Date) return value.toISOString()
      if (value instanceof Uint8Array) return btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join(''))
      // Class instances, such as decimals and Temporal, are sent as their text; plain objects are Json.
      return [Object.prototype, null].includes(Object.getPrototypeOf(value)) ? value : String(value)
    case 'undefined':
      return null
    default:
      return value
  }
}

/** The values of an object, encoded. */
export function encodeMembers(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, encode(value)]))
}
