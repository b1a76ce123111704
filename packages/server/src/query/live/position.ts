/**
 * The position of a live result as clients hold it: which version of which result, and the positions of its tables. It is sealed,
 * because the positions of tables would reveal how many hidden rows are written.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Clock } from 'gatehouse-protocol'
import { LruMap } from '../../lib/lru-map.ts'
import { pooledRandomBytes, seal, unseal } from '../../store/keys/opaque.ts'
import { type Positions, packPositions, unpackPositions } from '../engines/live-source.ts'
import type { LiveTarget } from './target.ts'

export interface LivePosition {
  /** The id of the result that it is a position of. */
  readonly resultId: string
  readonly version: number
  /** Undefined if they are too long: then only the node that holds the result can resume at the position. */
  readonly tables: Positions | undefined
}

/** Every node derives an identical key. */
export type DeriveKey = (purpose: string) => Buffer

type Bound = Pick<LiveTarget, 'fingerprint' | 'tables'>

const MAX_LENGTH = 512
/** The length of positions written by earlier releases: they are expired, not malformed. */
const MIN_BYTES = 17
const DAY_MS = 86_400_000
/** The number of the day, three bytes as text. */
const DAY_LENGTH = 4
const KEPT_DAYS = 4

const ID_BYTES = 6
const VERSION_AT = ID_BYTES
const VERSION_BYTES = 6
const FORM_AT = VERSION_AT + VERSION_BYTES
const LENGTH_AT = FORM_AT + 1
const TABLES_AT = LENGTH_AT + 2
/** Padding to whole blocks hides how many digits a counter has. */
const BLOCK_BYTES = 16
/** With the bytes that `seal` adds, and the day, it has at most 512 characters. */
const MAX_BYTES = 22 * BLOCK_BYTES
const MAX_TEXT_BYTES = 16 * 1024

/** The positions of the tables, plain or compressed; empty if they are too long even when compressed. */
const PLAIN = 0
const COMPRESSED = 1
const LEFT_OUT = 2

export function newResultId(): string {
  return pooledRandomBytes(ID_BYTES).toString('hex')
}

export class PositionSeal {
  readonly #derive: DeriveKey
  readonly #clock: Clock
  /** A key for each day: random nonces repeat when one key seals too much (NIST SP 800-38D §8.3). */
  readonly #keys = new LruMap<KeyObject>(KEPT_DAYS)

  constructor(derive: DeriveKey, clock: Clock) {
    this.#derive = derive
    this.#clock = clock
  }

  /** The tables are in a fixed order: the fingerprint determines them. */
  write({ resultId, version, tables: positions }: LivePosition, { fingerprint, tables }: Bound): string {
    const [form, body] = packed(tables, positions)
    const plain = Buffer.alloc(Math.ceil((TABLES_AT + body.length) / BLOCK_BYTES) * BLOCK_BYTES)
    plain.write(resultId, 'hex')
    plain.writeUIntBE(version, VERSION_AT, VERSION_BYTES)
    plain.writeUInt8(form, FORM_AT)
    plain.writeUInt16BE(body.length, LENGTH_AT)
    plain.set(body, TABLES_AT)
    const day = Buffer.alloc(3)
    day.writeUIntBE(Math.floor(this.#clock() / DAY_MS), 0, day.length)
    const header = day.toString('base64url')
    return header + seal(plain, this.#deriveKey(header), fingerprint)
  }

  /** Undefined if it belongs to another result, or is not a position of this installation. */
  read(text: string, { fingerprint, tables }: Bound): LivePosition | undefined {
    const header = text.slice(0, DAY_LENGTH)
    try {
      const plain = unseal(text.slice(DAY_LENGTH), this.#deriveKey(header), fingerprint)
      const end = TABLES_AT + plain.readUInt16BE(LENGTH_AT)
      return {
        resultId: plain.toString('hex', 0, ID_BYTES),
        version: plain.readUIntBE(VERSION_AT, VERSION_BYTES),
        tables: unpacked(plain.readUInt8(FORM_AT), plain.subarray(TABLES_AT, end), tables),
      }
    } catch {
      return undefined
    }
  }

  #deriveKey(header: string): KeyObject {
    const known = this.#keys.get(header)
    if (known !== undefined) return known
    const key = createSecretKey(this.#derive(`live positions ${header}`))
    this.#keys.set(header, key)
    return key
  }
}

/** Whether a text has the form of a position. */
export function isPosition(text: string): boolean {
  if (text.length > MAX_LENGTH || !/^[\w-]+$/.test(text)) return false
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length >= MIN_BYTES && bytes.toString('base64url') === text
}

function packed(tables: readonly string[], positions: Positions | undefined): readonly [form: number, body: Buffer] {
  const room = MAX_BYTES - TABLES_AT
  const text = Buffer.from(positions === undefined ? '' : packPositions(tables, positions))
  if (text.length <= room) return [PLAIN, text]
  const compressed = deflateRawSync(text)
  return compressed.length <= room ? [COMPRESSED, compressed] : [LEFT_OUT, Buffer.alloc(0)]
}

function unpacked(form: number, body: Buffer, tables: readonly string[]): Positions | undefined {
  if (form === LEFT_OUT) return undefined
  const text = form === PLAIN ? body : inflateRawSync(body, { maxOutputLength: MAX_TEXT_BYTES })
  return unpackPositions(tables, text.toString())
}
