/** The scanners and parsers that meet bytes of a caller, with what to attack each of them with. */
import {
  DEFAULT_LIMITS,
  type IqlType,
  parse,
  readDate,
  readInterval,
  readTime,
  readTimestamp,
  readValue,
  shapeOf,
  tokenize,
} from 'gatehouse-iql'
import {
  calledAddressFault,
  JsonText,
  nearest,
  originFault,
  parseTimeSpan,
  redirectUriFault,
  webAddressFault,
} from 'gatehouse-protocol'
import { topicChoice } from '../../packages/server/src/feeds/feed.ts'
import { byQuality, prefersHtml } from '../../packages/server/src/http/request/accept.ts'
import { readBearer, readCredentials } from '../../packages/server/src/http/request/authentication.ts'
import { readParameters } from '../../packages/server/src/http/request/body.ts'
import { readCookie } from '../../packages/server/src/http/request/cookies.ts'
import { preferredLanguages } from '../../packages/server/src/http/request/languages.ts'
import { bareAddress, localTarget, readQuery, segmentsOf } from '../../packages/server/src/http/request/request-head.ts'
import { describeBrowser } from '../../packages/server/src/identity/browser/browser-name.ts'
import { createAddresses } from '../../packages/server/src/identity/dpop/addresses.ts'
import { parseJwt } from '../../packages/server/src/identity/tokens/jwt.ts'
import { readDuration } from '../../packages/server/src/lib/duration.ts'
import { parseExactly, parseInSteps, parseJson } from '../../packages/server/src/lib/exact-json.ts'
import { isDeeperThan } from '../../packages/server/src/lib/json-depth.ts'
import { itemTexts, memberText } from '../../packages/server/src/lib/json-members.ts'
import { languageTag } from '../../packages/server/src/lib/language-tags.ts'
import { isMailAddress } from '../../packages/server/src/lib/mail-address.ts'
import { networkOf } from '../../packages/server/src/lib/network.ts'
import { isTimeZone } from '../../packages/server/src/lib/time-zones.ts'
import { negotiateCompression, negotiateEncoding } from '../../packages/server/src/query/http/request.ts'
import { readJson } from '../../packages/server/src/query/json.ts'
import { parseFilter, parsePath } from '../../packages/server/src/scim/filter/parse.ts'
import { readPatch } from '../../packages/server/src/scim/patch-body.ts'
import { CODECS } from '../../packages/server/src/streaming/codec/codec.ts'
import { readWebSocketHandshake } from '../../packages/server/src/streaming/gateway/handshake.ts'
import { readTraceParent } from '../../packages/server/src/telemetry/trace.ts'
import { claimStatement } from '../../packages/server/src/wire/catalogue/claims.ts'
import { parseStatement } from '../../packages/server/src/wire/catalogue/syntax/parse-query.ts'
import { parseCommand } from '../../packages/server/src/wire/session/command.ts'
import { Settings, startSettings } from '../../packages/server/src/wire/session/settings.ts'
import { splitStatements } from '../../packages/server/src/wire/session/split.ts'
import { readBearer as readSaslBearer } from '../../packages/server/src/wire/sign-in/oauthbearer.ts'
import { readArray } from '../../packages/server/src/wire/types/arrays.ts'
import type { Scanner } from './linear-time.ts'

/** The limit of a request's head in Node, and of bodies and statements: longer ones show nothing more. */
const [HEAD, BODY] = [16_384, 32_768]

const CHARACTERS = [
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

const JSON_TOKENS = [
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
const AROUND_JSON = [
  ['', ''],
  ['[', '0]'],
  ['{"TransactionID":1,"Data":[', '0]}'],
  ['{', '"a":1}'],
  ['{"Data":"', '"}'],
  ['{"Data":1', '}'],
  ['{"Data":0.', '1}'],
  ['{"TransactionID":', '.1}'],
] as const

const TYPES: readonly IqlType[] = [
  { kind: 'Integer' },
  { kind: 'Decimal', precision: 38, scale: 6 },
  { kind: 'Double' },
  { kind: 'Boolean' },
  { kind: 'Uuid' },
  { kind: 'Binary' },
  { kind: 'Json' },
]

const headers = (fields: object): never => ({ headers: fields, query: new Map() }) as never
const isAddress = createAddresses('https://gate.example/base', [])
const settings = new Settings({}, () => {})

const each =
  (...scans: readonly ((text: string) => unknown)[]): Scanner['scan'] =>
  (text) => {
    for (const scan of scans)
      try {
        scan(text)
      } catch {
        // Refused by this one.
      }
  }

export const SCANNERS: readonly Scanner[] = [
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
    scan: (text) => shapeOf(text),
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
  {
    name: 'JSON',
    scan: each(
      parseJson,
      parseExactly,
      readJson,
      (text) => [...parseInSteps(text)],
      (text) => isDeeperThan(text, 500),
    ),
    tokens: JSON_TOKENS,
    around: AROUND_JSON,
    most: BODY,
  },
  {
    name: 'members of JSON',
    // They are read from what is valid alone.
    scan: each(
      (text) => parseJson(text) !== undefined && memberText(text, 'Data'),
      (text) => [...itemTexts(text)],
    ),
    tokens: JSON_TOKENS,
    around: AROUND_JSON,
    most: BODY,
  },
  {
    name: 'streaming messages in JSON',
    scan: (text) => CODECS.PlatformJson.decode(Buffer.from(text)),
    tokens: JSON_TOKENS,
    around: AROUND_JSON,
    most: BODY,
  },
  {
    name: 'streaming messages for MessagePack',
    scan: (text) => CODECS.PlatformMsgPack.encode({ Data: new JsonText(text) } as never),
    tokens: ['0', '1', '[', '1,', '1.5,', '1e9,', '00', '12345678901234567890,'],
    around: [
      ['1', ''],
      ['0.', '1'],
      ['0.1', '1'],
      ['1', '1'],
      ['[', '0]'],
    ],
    most: BODY,
  },
  {
    name: 'streaming messages in MessagePack',
    scan: (text) => CODECS.PlatformMsgPack.decode(Buffer.from(text, 'latin1')),
    tokens: [
      '\x90',
      '\x91',
      '\x80',
      '\x81\xa1a',
      '\xa0',
      '\xa1a',
      '\xc4\x01a',
      '\xcf\xff\xff\xff\xff\xff\xff\xff\xff',
      '\x00',
      '\xc1',
      '\xd9\xff',
    ],
    around: [
      ['', ''],
      ['\x81\xa4Data\xdd\x00\x00\x40\x00', ''],
    ],
    most: BODY,
  },
  {
    name: 'values of IQL',
    scan: each(...TYPES.map((type) => (text: string) => readValue(type, text))),
    tokens: CHARACTERS,
    around: [
      ['', ''],
      ['1', 'x'],
      ['0.', '1'],
      ['[', ']'],
    ],
    most: BODY,
  },
  {
    name: 'dates, times and intervals',
    scan: each(readDate, readTime, readTimestamp, readInterval, parseTimeSpan, readDuration),
    tokens: [...CHARACTERS, '1 day ', '1d', '00:', '1.5h'],
    around: [
      ['', ''],
      ['1', '!'],
      ['2026-01-01T00:00:00.', 'Z'],
      ['1 day 00:00:00.1', 'x'],
    ],
    most: BODY,
  },
  { name: 'names of time zones', scan: isTimeZone, tokens: [...CHARACTERS, 'Europe/', 'Etc/'], most: BODY },
  {
    name: 'did you mean',
    scan: (text) => nearest(text, ['statement', 'parameters', 'columns']),
    tokens: CHARACTERS,
    most: BODY,
  },
  {
    name: 'topics and patterns',
    scan: topicChoice,
    tokens: [...CHARACTERS, '*', '/*'],
    around: [
      ['', ''],
      ['a/', '*'],
    ],
    most: BODY,
  },
  {
    name: 'SCIM filters and paths',
    scan: each(parseFilter, parsePath),
    tokens: [
      '(',
      ')',
      ' and ',
      ' or ',
      ' not ',
      'a eq 1',
      'a eq "',
      '\\',
      'urn:',
      'urn:a:',
      '.',
      'a.',
      '[',
      ']',
      ' ',
      '-1',
      'e',
      '"a"',
      ' pr',
    ],
    around: [
      ['', ''],
      ['userName eq "', ''],
      ['emails[', ']'],
      ['urn:', '!'],
    ],
    most: 4096,
  },
  {
    name: 'SCIM PATCH',
    scan: (text) => readPatch(Buffer.from(text)),
    tokens: JSON_TOKENS,
    around: [['{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[', ']}']],
    most: BODY,
  },
  {
    name: 'Accept and languages',
    scan: each(
      byQuality,
      (text) => prefersHtml(headers({ accept: text })),
      (text) => negotiateEncoding(headers({ accept: text })),
      negotiateCompression,
      (text) => preferredLanguages([], text),
      languageTag,
    ),
    tokens: [...CHARACTERS, 'a;q=1,', ';q=', 'application/', '+json', '*/*,', 'en-', 'de,'],
    around: [
      ['', ''],
      ['application/', 'json'],
    ],
    most: HEAD,
  },
  {
    name: 'credentials',
    scan: each(readBearer, readCredentials, parseJwt, (text) => readTraceParent(text)),
    tokens: [...CHARACTERS, 'Bearer ', 'Basic ', 'DPoP ', 'a.', '~', '+'],
    around: [
      ['', ''],
      ['Bearer ', ' '],
      ['Basic ', '='],
      ['a.', '.a'],
    ],
    most: HEAD,
  },
  {
    name: 'cookies',
    scan: (text) => readCookie(text, { name: 'gatehouse' }),
    tokens: [...CHARACTERS, 'a=b;', 'gatehouse=', ' ='],
    most: HEAD,
  },
  {
    name: 'forms and queries',
    scan: each(readParameters, (text) => readQuery(`/a?${text}`)),
    tokens: [...CHARACTERS, '&', 'a=b&', '%', '%f', '+', '&&'],
    most: BODY,
  },
  {
    name: 'targets and addresses',
    scan: each(
      (text) => localTarget(text, '/base'),
      segmentsOf,
      bareAddress,
      networkOf,
      (text) => isAddress(text, '/a'),
      redirectUriFault,
      webAddressFault,
      calledAddressFault,
      originFault,
      isMailAddress,
    ),
    tokens: [...CHARACTERS, '//', '/.', '/../', '%2e', '[', ']', '::', '@', 'a@', 'a.', '#', '?'],
    around: [
      ['', ''],
      ['https://gate.example/', ''],
      ['https://', '/'],
      ['a@', '.example'],
    ],
    most: HEAD,
  },
  {
    name: 'the WebSocket handshake',
    scan: (text) =>
      readWebSocketHandshake(
        headers({
          'sec-websocket-version': '13',
          'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
          'sec-websocket-extensions': text,
        }),
        { streamDeflate: true, streamDeflateWindowBits: 15 } as never,
      ),
    tokens: [...CHARACTERS, 'permessage-deflate', '; a', ';a=', 'a="', ', a'],
    around: [
      ['permessage-deflate; ', ''],
      ['a; b', '!'],
    ],
    most: HEAD,
  },
  {
    name: 'browsers',
    scan: describeBrowser,
    tokens: [...CHARACTERS, 'Mac OS X', 'Chrome/', 'Version/', 'Safari/'],
    most: HEAD,
  },
]
