/** Scanners of statements and of the wire protocol. */

import { DEFAULT_LIMITS, parse, readShape, tokenize } from 'gatehouse-iql'
import { claimStatement } from '../../../packages/server/src/wire/catalogue/claims.ts'
import { parseStatement } from '../../../packages/server/src/wire/catalogue/syntax/parse-query.ts'
import { parseCommand } from '../../../packages/server/src/wire/session/commands/command.ts'
import { Settings, startSettings } from '../../../packages/server/src/wire/session/commands/settings.ts'
import { splitStatements } from '../../../packages/server/src/wire/session/statement/split.ts'
import { readBearer as readSaslBearer } from '../../../packages/server/src/wire/sign-in/oauthbearer.ts'
import { readArray } from '../../../packages/server/src/wire/types/arrays.ts'
import type { Scanner } from '../linear-time.ts'
import { BODY, CHARACTERS, each } from './attack-tokens.ts'

const SQL_TOKENS = [
  ...[' between 1 and 2', ' and 1', ' or 1', ' not', ' + 1', '+', '-', ' - ', '*', '/', '~', ' = 1', ' < ', ' in (1)'],
  ...[
    " like 'a'",
    ' is null',
    '::text',
    '::',
    '[1]',
    '(',
    ')',
    '((',
    '(select ',
    ' case when 1 then ',
    ' end',
    ' exists (select 1)',
  ],
  ...[
    ', 1',
    ',',
    '.a',
    'a.',
    ' a',
    ' union select 1',
    ' intersect select 1',
    ' join a on 1',
    ' join a',
    ' join (',
    ' from (',
    ' with a as (',
  ],
  ...[
    "'a'",
    "'",
    "''",
    "'\n",
    '\n',
    "e'\\",
    '"a"',
    '"',
    '$1',
    '$',
    '$$',
    '$a$',
    '--',
    '--\n',
    '/*',
    '*/',
    '/* */',
    '0',
    '1e',
    '1.',
    '.',
    ';',
  ],
  ...[
    ' any (',
    ' all (',
    ' array[',
    ' row(',
    ' over (',
    ' order by 1',
    ' window a as (',
    ' collate a',
    ' values (',
    ' cast(1 as ',
    ':a',
    '?',
    '\\',
  ],
]
const AROUND_SQL = [
  ['', ''],
  ['select 1', ''],
  ['select 1 from pg_class where 1', ''],
  ['select ', ' from pg_class'],
] as const

const settings = new Settings({}, () => {})

export const STATEMENT_SCANNERS: readonly Scanner[] = [
  {
    name: 'IQL tokens',
    scan: (text) => tokenize(text, DEFAULT_LIMITS),
    tokens: SQL_TOKENS,
    around: AROUND_SQL,
    most: BODY,
  },
  { name: 'IQL statements', scan: (text) => parse(text), tokens: SQL_TOKENS, around: AROUND_SQL, most: BODY },
  {
    name: 'shapes of IQL statements',
    scan: (text) => readShape(text),
    tokens: SQL_TOKENS,
    around: AROUND_SQL,
    most: BODY,
  },
  { name: 'claims of the catalogue', scan: claimStatement, tokens: SQL_TOKENS, around: AROUND_SQL, most: BODY },
  { name: 'catalogue statements', scan: parseStatement, tokens: SQL_TOKENS, around: AROUND_SQL, most: BODY },
  {
    name: 'statements of a Query message',
    scan: splitStatements,
    tokens: SQL_TOKENS,
    around: [['select ;', '']],
    most: BODY,
  },
  {
    name: 'commands of a wire session',
    scan: parseCommand,
    tokens: SQL_TOKENS,
    around: ['begin', 'set a = ', 'copy a from stdin ', 'prepare a as ', 'declare a cursor for ', 'fetch '].map(
      (word) => [word, ''],
    ),
    most: BODY,
  },
  {
    name: 'settings of a wire session',
    scan: each(
      ...['statement_timeout', 'TimeZone', 'DateStyle', 'search_path', 'application_name', 'client_min_messages'].map(
        (name) => (text: string) => settings.set(name, text, false),
      ),
    ),
    tokens: CHARACTERS,
    around: [
      ['', ''],
      ['0', '\u0001'],
      ['0 s', '!'],
    ],
    most: BODY,
  },
  {
    name: 'options of a start-up packet',
    scan: (text) => [...startSettings(new Map([['options', text]]))],
    tokens: [...CHARACTERS, '--', '-c', '--a', '-c a=', '--a=\\', '---'],
    most: 10_000,
  },
  {
    name: 'SASL OAUTHBEARER',
    scan: readSaslBearer,
    tokens: [...CHARACTERS, '\u0001', 'auth=Bearer '],
    around: [['n,,\u0001auth=Bearer ', '']],
    most: BODY,
  },
  {
    name: 'arrays of PostgreSQL',
    scan: (text) => readArray(Buffer.from(text), false, 100_000),
    tokens: ['{', '}', ',', '"', '"a",', '\\', 'a,', 'null,', ' '],
    around: [
      ['', ''],
      ['{', '}'],
    ],
    most: BODY,
  },
]
