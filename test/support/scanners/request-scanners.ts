/** Scanners of requests, streaming messages and values. */

import { type IqlType, readDate, readInterval, readTime, readTimestamp, readValue } from 'gatehouse-iql'
import {
  calledAddressFault,
  JsonText,
  nearest,
  originFault,
  parseTimeSpan,
  redirectUriFault,
  webAddressFault,
} from 'gatehouse-protocol'
import { topicChoice } from '../../../packages/server/src/feeds/feed.ts'
import { byQuality, preferredLanguages, prefersHtml } from '../../../packages/server/src/http/request/accept.ts'
import { readBearer, readCredentials } from '../../../packages/server/src/http/request/authentication.ts'
import { readParameters } from '../../../packages/server/src/http/request/body.ts'
import { readCookie } from '../../../packages/server/src/http/request/cookies.ts'
import {
  bareAddress,
  localTarget,
  readQuery,
  splitPath,
} from '../../../packages/server/src/http/request/request-head.ts'
import { describeBrowser } from '../../../packages/server/src/identity/browser/browser-name.ts'
import { createAddresses } from '../../../packages/server/src/identity/dpop/addresses.ts'
import { parseJwt } from '../../../packages/server/src/identity/tokens/jwt.ts'
import { readDuration } from '../../../packages/server/src/lib/duration.ts'
import { parseExactly, parseInSteps, parseJson } from '../../../packages/server/src/lib/exact-json.ts'
import { isDeeperThan } from '../../../packages/server/src/lib/json-depth.ts'
import { itemTexts, memberText } from '../../../packages/server/src/lib/json-members.ts'
import { languageTag } from '../../../packages/server/src/lib/language-tags.ts'
import { isMailAddress } from '../../../packages/server/src/lib/mail-address.ts'
import { addressNetwork } from '../../../packages/server/src/lib/network.ts'
import { isTimeZone } from '../../../packages/server/src/lib/time-zones.ts'
import { negotiateCompression, negotiateEncoding } from '../../../packages/server/src/query/http/request.ts'
import { readJson } from '../../../packages/server/src/query/json.ts'
import { parseFilter, parsePath } from '../../../packages/server/src/scim/filter/parse.ts'
import { readPatch } from '../../../packages/server/src/scim/patch-body.ts'
import { CODECS } from '../../../packages/server/src/streaming/codec/codec.ts'
import { readWebSocketHandshake } from '../../../packages/server/src/streaming/gateway/handshake.ts'
import { readTraceParent } from '../../../packages/server/src/telemetry/trace.ts'
import type { Scanner } from '../linear-time.ts'
import { BODY, CHARACTERS, each, HEAD, JSON_TOKENS } from './attack-tokens.ts'

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
export const REQUEST_SCANNERS: readonly Scanner[] = [
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
      splitPath,
      bareAddress,
      addressNetwork,
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
