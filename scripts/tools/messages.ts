/** Messages of PostgreSQL's protocol 3, as far as the recording proxy must understand them. */

export interface Message {
  /** The type byte as a character; empty for start-up packets. */
  readonly type: string
  readonly body: Buffer
  /** All bytes, to pass them on. */
  readonly bytes: Buffer
}

/** Cuts a stream into messages. The first of a client has no type byte. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0)
  hasType: boolean

  constructor({ hasType }: { hasType: boolean }) {
    this.hasType = hasType
  }

  *read(chunk: Buffer): Generator<Message> {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (true) {
      const head = this.hasType ? 1 : 0
      if (this.#rest.length < head + 4) return
      const end = head + this.#rest.readInt32BE(head)
      if (this.#rest.length < end) return
      const bytes = this.#rest.subarray(0, end)
      this.#rest = this.#rest.subarray(end)
      yield { type: head === 1 ? String.fromCharCode(bytes[0] ?? 0) : '', body: bytes.subarray(head + 4), bytes }
    }
  }
}

/** Reads the fields of a body one after the other. */
export class Fields {
  readonly #body: Buffer
  #at = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  int16(): number {
    this.#at += 2
    return this.#body.readInt16BE(this.#at - 2)
  }

  int32(): number {
    this.#at += 4
    return this.#body.readInt32BE(this.#at - 4)
  }

  uint32(): number {
    this.#at += 4
    return this.#body.readUInt32BE(this.#at - 4)
  }

  byte(): string {
    this.#at += 1
    return String.fromCharCode(this.#body[this.#at - 1] ?? 0)
  }

  text(): string {
    const end = this.#body.indexOf(0, this.#at)
    const text = this.#body.toString('utf8', this.#at, end)
    this.#at = end + 1
    return text
  }

  /** A value with its length before it; -1 is NULL. */
  value(): Buffer | null {
    const length = this.int32()
    if (length === -1) return null
    this.#at += length
    return this.#body.subarray(this.#at - length, this.#at)
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: this.int16() }, read)
  }
}

export interface Column {
  readonly name: string
  readonly type: number
  readonly modifier: number
}

export function readRowDescription(body: Buffer): Column[] {
  const fields = new Fields(body)
  return fields.list(() => {
    const name = fields.text()
    fields.uint32()
    fields.int16()
    const type = fields.uint32()
    fields.int16()
    const modifier = fields.int32()
    fields.int16()
    return { name, type, modifier }
  })
}

export function readDataRow(body: Buffer): (string | null)[] {
  const fields = new Fields(body)
  return fields.list(() => fields.value()?.toString('utf8') ?? null)
}

export function readError(body: Buffer): { code: string; message: string } {
  const fields = new Fields(body)
  const found = { code: '', message: '' }
  for (let field = fields.byte(); field !== '\0'; field = fields.byte()) {
    const text = fields.text()
    if (field === 'C') found.code = text
    if (field === 'M') found.message = text
  }
  return found
}

/** Writes a message: its type, its length and the parts of its body. */
export function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type, 'latin1'), int32(body.length + 4), body])
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}

export function cstring(text: string): Buffer {
  return Buffer.from(`${text}\0`)
}
