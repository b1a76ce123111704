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
export const JSON_TOKENS = [
  ...[
    '[',
    '{',
    '[]',
    '{}',
    '[],',
    '{"a":',
    '{"a":1},',
    '"a":1,',
    '"',
    '""',
    '"",',
    '"\\',
    '"\\"',
    '\\',
    '\\u0041',
    '"\\u0041":1,',
    '"a',
  ],
  ...[
    '0',
    '1',
    '-',
    '1.',
    '1e',
    '0.',
    '00',
    '1,',
    ',',
    ':',
    ' ',
    '\n',
    'null,',
    'true',
    '"TransactionID":1.0,',
    '"Transaction\\u0049D":1,',
  ],
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
