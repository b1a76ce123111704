/** A stream of text on its way to a terminal, without the characters that could control it. */
import { Transform } from 'node:stream'
import { printableLines } from './table.ts'

export class PrintableText extends Transform {
  readonly #decoder = new TextDecoder()
  /** A carriage return at the end of a chunk: whether a line feed follows is in the next. */
  #held = ''

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, text: string) => void): void {
    const text = this.#held + this.#decoder.decode(chunk, { stream: true })
    this.#held = text.endsWith('\r') ? '\r' : ''
    done(null, printed(this.#held === '' ? text : text.slice(0, -1)))
  }

  override _flush(done: (error: null, text: string) => void): void {
    done(null, printed(this.#held + this.#decoder.decode()))
  }
}

/** The lines of CSV end in CRLF, which is no attack. */
function printed(text: string): string {
  return printableLines(text.replaceAll('\r\n', '\n'))
}
