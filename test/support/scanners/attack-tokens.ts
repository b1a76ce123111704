/** What scanners are attacked with, and how several are called as one. */
import type { Scanner } from '../linear-time.ts'

/** The limit of a request's head in Node, and of bodies and statements: longer ones show nothing more. */
export const [HEAD, BODY] = [16_384, 32_768]

export const CHARACTERS = [
  'a',
  '0',
  ' ',
  '\t',
  '\n',
  '.',
  ',',
  ';',
  ':',
  '=',
  '-',
  '_',
  '/',
  '\\',
  '"',
  "'",
  '%41',
  'é',
  '\u0000',
]
export const each =
  (...scans: readonly ((text: string) => unknown)[]): Scanner['scan'] =>
  (text) => {
    for (const scan of scans)
      try {
        scan(text)
      } catch {
        // Refused by this one.
      }
  }
