/** Texts that would cost much more than they have bytes, for CSV, NDJSON and COPY. */

const MEBIBYTE = 1024 * 1024
/** That of the issue: a line may have twice as many. */
const LONG = 16 * MEBIBYTE

/** A row whose end is found is read as a whole: each MiB of it takes some milliseconds. */
const ACCEPTED = 2 * MEBIBYTE

const filled = (begin: string, repeated: string, end = '', length = LONG): Buffer =>
  Buffer.concat([Buffer.from(begin), Buffer.alloc(length, repeated), Buffer.from(end)])

/** For the table `many`, which has 1,900 columns of Text. */
export const MANY = Array.from({ length: 1900 }, (_, index) => `c${index}`)

type Bombs = Readonly<Record<string, readonly [table: 'mixed' | 'many', body: () => Buffer]>>

export const NDJSON_BOMBS: Bombs = {
  'a first line of brackets': ['mixed', () => filled('', '[')],
  'a first value of brackets': ['mixed', () => filled('{"j":', '[')],
  'a later value of brackets': ['mixed', () => filled('{"j":1}\n{"j":', '[')],
  'a value of millions of numbers': ['mixed', () => filled('{"j":[1', ',1', ']}\n')],
  'a value of millions of objects': ['mixed', () => filled('{"j":[1', ',{}', ']}\n')],
  'a number of millions of digits': ['mixed', () => filled('{"d":1', '1', '}\n')],
  'a number of millions of digits in JSON': ['mixed', () => filled('{"j":[1', '1', ']}\n')],
  'millions of names': ['mixed', () => filled('{"a":1', ',"b":1', '}\n')],
  'a text of escape sequences': ['mixed', () => filled('{"t":"', '\\u0041', '"}\n', ACCEPTED)],
  'rows that leave out 1,900 columns': [
    'many',
    () =>
      Buffer.concat([
        Buffer.from(`${JSON.stringify(Object.fromEntries(MANY.map((name) => [name, null])))}\n`),
        Buffer.alloc(3 * 20_000, '{}\n'),
      ]),
  ],
}

export const CSV_BOMBS: Bombs = {
  'a header of millions of names': ['mixed', () => filled('t', ',t', '\n')],
  'a record of millions of fields': ['mixed', () => filled('t\n', ',', '\n')],
  'a text of escaped quotes': ['mixed', () => filled('t\n"', '""', '"\n', ACCEPTED)],
  'a text that does not end': ['mixed', () => filled('t\n"', 'x')],
  'brackets for JSON': ['mixed', () => filled('j\n"', '[', '"\n')],
  'millions of numbers for JSON': ['mixed', () => filled('j\n"[1', ',1', ']"\n')],
  'millions of digits for a Decimal': ['mixed', () => filled('d\n', '1', '\n')],
  'Base-64 for a Binary': ['mixed', () => filled('x\n', 'QUFB', '\n', ACCEPTED)],
  'rows of 1,900 empty fields': [
    'many',
    () => Buffer.concat([Buffer.from(`${MANY.join()}\n`), Buffer.from(`${','.repeat(1899)}\n`.repeat(2000))]),
  ],
}

/** The columns of `mixed` are named in the statement. */
export const COPY_BOMBS: Readonly<Record<string, readonly [statement: string, body: () => Buffer]>> = {
  'text: escape sequences': ['COPY mixed (t) FROM STDIN', () => filled('', '\\x41', '\n', ACCEPTED)],
  'text: octal escape sequences': ['COPY mixed (t) FROM STDIN', () => filled('', '\\101', '\n', ACCEPTED)],
  'text: hexadecimal digits': ['COPY mixed (x) FROM STDIN', () => filled('\\\\x', '41', '\n', ACCEPTED)],
  'text: brackets for JSON': ['COPY mixed (j) FROM STDIN', () => filled('', '[', '\n', ACCEPTED)],
  'text: millions of fields': ['COPY mixed (t) FROM STDIN', () => filled('', '\t', '\n')],
  'csv: escaped quotes': ['COPY mixed (t) FROM STDIN (FORMAT csv)', () => filled('"', '""', '"\n', ACCEPTED)],
  'binary: a field of 2 GiB': ['COPY mixed (t) FROM STDIN (FORMAT binary)', () => binary(2 ** 31 - 1)],
  'binary: a field that does not end': [
    'COPY mixed (t) FROM STDIN (FORMAT binary)',
    () => Buffer.concat([binary(2 * LONG), Buffer.alloc(LONG, 'x')]),
  ],
}

function binary(length: number): Buffer {
  const [header, field] = [Buffer.alloc(8), Buffer.alloc(6)]
  field.writeInt16BE(1)
  field.writeInt32BE(length, 2)
  return Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), header, field])
}
