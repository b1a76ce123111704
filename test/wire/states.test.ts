/** The states of a session and the messages: what each message does in each state, and what ends a state. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN } from '../support/demo-user.ts'
import { onSqlite } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { message, type Reply } from '../support/wire-client.ts'
import { bind, describe, execute, parse, readAnswer, SYNC, WireSession } from '../support/wire-session.ts'

const query = (text: string) => message('Q', `${text}\0`)
const BEGIN_COPY = [parse('', 'COPY states FROM STDIN'), bind('', '', []), execute('')]

/** What leads to a state, and its replies. */
const STATES = {
  idle: [],
  'in a block': [query('BEGIN')],
  'in a failed block': [query('BEGIN'), query('SELECT nope')],
  'copy-in of a Query': [query('COPY states FROM STDIN')],
  'copy-in of Execute': BEGIN_COPY,
  'copy-in in a block': [query('BEGIN'), query('COPY states FROM STDIN')],
  'skipping until Sync': [parse('', 'SELECT nope')],
  'portal suspended in a block': [
    query('BEGIN'),
    parse('', 'SELECT id FROM trades'),
    bind('p', '', []),
    execute('p', 1),
  ],
} as const

const MESSAGES = {
  Query: [query('SELECT 1 AS x')],
  Parse: [parse('s', 'SELECT 1 AS x')],
  'Parse, Bind, Execute': [parse('', 'SELECT 1 AS x'), bind('', '', []), execute('')],
  'Describe of nothing': [describe('P', 'nothing')],
  'Execute of a portal': [execute('p', 1)],
  Close: [message('C', 'Pp\0')],
  Flush: [message('H')],
  CopyData: [message('d', '7\n')],
  CopyDone: [message('c')],
  CopyFail: [message('f', 'why not\0')],
  'a function call': [message('F')],
} as const

/**
 * The letters of the replies, with the state after Z, and errors by their SQLSTATE. After the message, CopyFail, Sync and ROLLBACK end
 * every state; a CopyFail that no COPY waits for has no reply.
 */
const EXPECTED: Readonly<Record<keyof typeof STATES, Readonly<Record<keyof typeof MESSAGES, string>>>> = {
  idle: {
    Query: 'TDCZI ZI ZI NC',
    Parse: '1ZI ZI NC',
    'Parse, Bind, Execute': '12DCZI ZI NC',
    'Describe of nothing': '34000 ZI ZI NC',
    'Execute of a portal': '34000 ZI ZI NC',
    Close: '3ZI ZI NC',
    Flush: 'ZI ZI NC',
    CopyData: 'ZI ZI NC',
    CopyDone: 'ZI ZI NC',
    CopyFail: 'ZI ZI NC',
    'a function call': '0A000 ZI ZI ZI NC',
  },
  'in a block': {
    Query: 'CZT TDCZT ZT ZT C',
    Parse: 'CZT 1ZT ZT C',
    'Parse, Bind, Execute': 'CZT 12DCZT ZT C',
    'Describe of nothing': 'CZT 34000 ZE ZE C',
    'Execute of a portal': 'CZT 34000 ZE ZE C',
    Close: 'CZT 3ZT ZT C',
    Flush: 'CZT ZT ZT C',
    CopyData: 'CZT ZT ZT C',
    CopyDone: 'CZT ZT ZT C',
    CopyFail: 'CZT ZT ZT C',
    'a function call': 'CZT 0A000 ZE ZE ZE C',
  },
  'in a failed block': {
    Query: 'CZT 42703 ZE 25P02 ZE ZE ZE C',
    Parse: 'CZT 42703 ZE 25P02 ZE ZE C',
    'Parse, Bind, Execute': 'CZT 42703 ZE 25P02 ZE ZE C',
    'Describe of nothing': 'CZT 42703 ZE 34000 ZE ZE C',
    'Execute of a portal': 'CZT 42703 ZE 34000 ZE ZE C',
    Close: 'CZT 42703 ZE 3ZE ZE C',
    Flush: 'CZT 42703 ZE ZE ZE C',
    CopyData: 'CZT 42703 ZE ZE ZE C',
    CopyDone: 'CZT 42703 ZE ZE ZE C',
    CopyFail: 'CZT 42703 ZE ZE ZE C',
    'a function call': 'CZT 42703 ZE 0A000 ZE ZE ZE C',
  },
  'copy-in of a Query': {
    Query: 'G 08P01 ZI ZI ZI NC',
    Parse: 'G 08P01 ZI ZI ZI NC',
    'Parse, Bind, Execute': 'G 08P01 ZI 26000 ZI ZI NC',
    'Describe of nothing': 'G 08P01 ZI ZI ZI NC',
    'Execute of a portal': 'G 08P01 ZI ZI ZI NC',
    Close: 'G 08P01 ZI ZI ZI NC',
    Flush: 'G 57014 ZI ZI NC',
    CopyData: 'G 57014 ZI ZI NC',
    CopyDone: 'GCZI ZI ZI NC',
    CopyFail: 'G 57014 ZI ZI ZI NC',
    'a function call': 'G 08P01 ZI ZI ZI NC',
  },
  'copy-in of Execute': {
    Query: '12G 08P01 ZI ZI NC',
    Parse: '12G 08P01 ZI ZI NC',
    'Parse, Bind, Execute': '12G 08P01 ZI ZI NC',
    'Describe of nothing': '12G 08P01 ZI ZI NC',
    'Execute of a portal': '12G 08P01 ZI ZI NC',
    Close: '12G 08P01 ZI ZI NC',
    Flush: '12G 57014 ZI NC',
    CopyData: '12G 57014 ZI NC',
    CopyDone: '12GCZI ZI NC',
    CopyFail: '12G 57014 ZI ZI NC',
    'a function call': '12G 08P01 ZI ZI NC',
  },
  'copy-in in a block': {
    Query: 'CZT G 08P01 ZE ZE ZE C',
    Parse: 'CZT G 08P01 ZE ZE ZE C',
    'Parse, Bind, Execute': 'CZT G 08P01 ZE 26000 ZE ZE C',
    'Describe of nothing': 'CZT G 08P01 ZE ZE ZE C',
    'Execute of a portal': 'CZT G 08P01 ZE ZE ZE C',
    Close: 'CZT G 08P01 ZE ZE ZE C',
    Flush: 'CZT G 57014 ZE ZE C',
    CopyData: 'CZT G 57014 ZE ZE C',
    CopyDone: 'CZT GCZT ZT ZT C',
    CopyFail: 'CZT G 57014 ZE ZE ZE C',
    'a function call': 'CZT G 08P01 ZE ZE ZE C',
  },
  'skipping until Sync': {
    Query: '42703 ZI ZI NC',
    Parse: '42703 ZI ZI NC',
    'Parse, Bind, Execute': '42703 ZI ZI NC',
    'Describe of nothing': '42703 ZI ZI NC',
    'Execute of a portal': '42703 ZI ZI NC',
    Close: '42703 ZI ZI NC',
    Flush: '42703 ZI ZI NC',
    CopyData: '42703 ZI ZI NC',
    CopyDone: '42703 ZI ZI NC',
    CopyFail: '42703 ZI ZI NC',
    'a function call': '42703 ZI ZI NC',
  },
  'portal suspended in a block': {
    Query: 'CZT 12DsTDCZT ZT ZT C',
    Parse: 'CZT 12Ds1ZT ZT C',
    'Parse, Bind, Execute': 'CZT 12Ds12DCZT ZT C',
    'Describe of nothing': 'CZT 12Ds 34000 ZE ZE C',
    'Execute of a portal': 'CZT 12DsDsZT ZT C',
    Close: 'CZT 12Ds3ZT ZT C',
    Flush: 'CZT 12DsZT ZT C',
    CopyData: 'CZT 12DsZT ZT C',
    CopyDone: 'CZT 12DsZT ZT C',
    CopyFail: 'CZT 12DsZT ZT C',
    'a function call': 'CZT 12Ds 0A000 ZE ZE ZE C',
  },
}

onSqlite('the states of a session', (place) => {
  let server: TestServer
  before(async () => {
    const flags = { '--demo': 'true', '--demo-market': 'false', '--wire-port': '0', '--wire-writes': 'true' }
    server = await startTestServer(place(), { flags })
    const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    await session.query('CREATE TABLE states (id Integer PRIMARY KEY)')
    session.close()
  })
  after(() => server.stop())

  for (const [state, enter] of Object.entries(STATES))
    test(state, async () => {
      const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
      const seen: Record<string, string> = {}
      for (const [name, messages] of Object.entries(MESSAGES)) {
        session.client.send(...enter, ...messages, SYNC, message('f', '\0'), SYNC, query('ROLLBACK'))
        seen[name] = shown(await repliesToRollback(session))
      }
      assert.deepEqual(seen, EXPECTED[state as keyof typeof STATES])
      session.close()
    })

  test('the end of a COPY that has failed is not taken for that of the next one', async () => {
    const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    for (let id = 100; id < 120; id++) {
      session.client.send(query('COPY states FROM STDIN'), message('f', 'why not\0'))
      await session.client.repliesTo('Z')
      const { tags, errors } = await session.send(
        query('COPY states FROM STDIN'),
        message('d', `${id}\n`),
        message('c'),
      )
      assert.deepEqual([tags, errors], [['COPY 1'], []])
    }
    session.close()
  })

  test('a COPY that has failed does not count as running once its error is there', async () => {
    const session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    const failing = [query('COPY states FROM STDIN'), message('f', 'why not\0')]
    const codes: (string | undefined)[] = []
    for (let count = 0; count < 30; count++) session.client.send(...failing)
    for (let count = 0; count < 30; count++) codes.push(readAnswer(await session.client.repliesTo('Z')).errors[0]?.C)
    assert.deepEqual(codes, Array(30).fill('57014'))
    session.close()
  })
})

async function repliesToRollback({ client }: WireSession): Promise<Reply[]> {
  const replies: Reply[] = []
  for (;;) {
    const reply = await client.reply()
    if (reply === undefined) throw new Error('The connection ended')
    replies.push(reply)
    if (reply.type === 'C' && reply.body.toString() === 'ROLLBACK\0') break
  }
  await client.repliesTo('Z')
  return replies
}

function shown(replies: readonly Reply[]): string {
  const { errors } = readAnswer(replies)
  let at = 0
  return replies
    .map(({ type, body }) => {
      if (type === 'E') return ` ${errors[at++]?.C} `
      return type === 'Z' ? `Z${body.toString()} ` : type
    })
    .join('')
    .replaceAll(/ +/g, ' ')
    .trim()
}
