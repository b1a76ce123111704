/** Values of every type over PostgreSQL's protocol, both ways, in text and binary, bit for bit. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { int16, int32, texts, WireSession } from '../support/wire-session.ts'

interface TypeCase {
  /** In IQL. */
  readonly column: string
  readonly oid: number
  readonly modifier?: number
  /** A text, as PostgreSQL writes it, and the binary form. */
  readonly values: readonly (readonly [text: string, binary: Buffer])[]
}

const CASES: readonly TypeCase[] = [
  {
    column: 'Text',
    oid: 25,
    values: [
      ['', Buffer.from('')],
      ["it's ünïcode 𝄞 \\ \t\n", Buffer.from("it's ünïcode 𝄞 \\ \t\n")],
    ],
  },
  {
    column: 'Integer',
    oid: 20,
    values: [
      ['0', int64(0n)],
      ['-1', int64(-1n)],
      ['9007199254740993', int64(9007199254740993n)],
      ['-9223372036854775808', int64(-(2n ** 63n))],
    ],
  },
  {
    column: 'Decimal(12, 4)',
    oid: 1700,
    modifier: ((12 << 16) | 4) + 4,
    values: [
      ['0.0000', numeric([], 0, 0, 4)],
      ['45.1000', numeric([45, 1000], 0, 0, 4)],
      ['-12345678.0001', numeric([1234, 5678, 1], 1, 0x4000, 4)],
      ['0.0100', numeric([100], -1, 0, 4)],
      ['10000.0000', numeric([1], 1, 0, 4)],
    ],
  },
  {
    column: 'Decimal(38, 10)',
    oid: 1700,
    modifier: ((38 << 16) | 10) + 4,
    values: [
      [
        '-1234567890123456789012345678.0123456789',
        numeric([1234, 5678, 9012, 3456, 7890, 1234, 5678, 123, 4567, 8900], 6, 0x4000, 10),
      ],
    ],
  },
  {
    column: 'Double',
    oid: 701,
    values: [
      ['0', float64(0)],
      ['0.1', float64(0.1)],
      ['-1.5', float64(-1.5)],
      ['1e+15', float64(1e15)],
      ['123456789012345', float64(123456789012345)],
      ['0.0001', float64(0.0001)],
      ['1e-05', float64(1e-5)],
      ['1.2345678901234567e+300', float64(1.2345678901234567e300)],
      ['NaN', float64(Number.NaN)],
      ['-Infinity', float64(Number.NEGATIVE_INFINITY)],
    ],
  },
  {
    column: 'Boolean',
    oid: 16,
    values: [
      ['t', Buffer.from([1])],
      ['f', Buffer.from([0])],
    ],
  },
  {
    column: 'Timestamp',
    oid: 1184,
    values: [
      ['2000-01-01 00:00:00+00', int64(0n)],
      ['2026-01-31 09:30:00.000001+00', int64(823167000n * 1_000_000n + 1n)],
      ['1999-12-31 23:59:59.5+00', int64(-500_000n)],
      ['0001-01-01 00:00:00+00', int64(-63_082_281_600n * 1_000_000n)],
      ['9999-12-31 23:59:59.999999+00', int64(252_455_615_999n * 1_000_000n + 999_999n)],
    ],
  },
  {
    column: 'Date',
    oid: 1082,
    values: [
      ['2000-01-02', int32(1)],
      ['1999-12-31', int32(-1)],
    ],
  },
  {
    column: 'Time',
    oid: 1083,
    values: [
      ['00:00:00', int64(0n)],
      ['09:30:00.25', int64(34_200_250_000n)],
    ],
  },
  {
    column: 'Uuid',
    oid: 2950,
    values: [['123e4567-e89b-12d3-a456-426614174000', Buffer.from('123e4567e89b12d3a456426614174000', 'hex')]],
  },
  { column: 'Json', oid: 114, values: [['{"a": [1, 2.50]}', Buffer.from('{"a": [1, 2.50]}')]] },
  {
    column: 'Binary',
    oid: 17,
    values: [
      ['\\x', Buffer.alloc(0)],
      ['\\x00ff5c', Buffer.from('00ff5c', 'hex')],
    ],
  },
]

onEveryEngine('types over the wire', (place) => {
  let server: TestServer
  let session: WireSession
  before(async () => {
    server = await startTestServer(place(), {
      flags: { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
    })
    session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
  })
  after(async () => {
    session.close()
    await server.stop()
  })

  for (const { column, oid, modifier = -1, values } of CASES)
    test(`${column}: stored and returned in text and binary`, async () => {
      const table = `t_${column.replace(/\W+/g, '')}`
      const created = await session.query(`CREATE TABLE ${table} (id Integer PRIMARY KEY, v ${column})`)
      assert.deepEqual(created.errors, [])
      let id = 0
      for (const [text, binary] of values)
        for (const sent of [text, binary]) {
          const written = await session.run(`INSERT INTO ${table} (id, v) VALUES ($1, $2)`, [String(++id), sent])
          assert.deepEqual([written.errors, written.tags], [[], ['INSERT 0 1']], text)
          for (const compared of column === 'Json' ? [] : [text, binary]) {
            const found = await session.run(`SELECT count(*) AS n FROM ${table} WHERE id = $1 AND v = $2`, [
              String(id),
              compared,
            ])
            assert.deepEqual([found.errors, texts(found)], [[], [['1']]], `${text} compared`)
          }
          const inText = await session.run(`SELECT v FROM ${table} WHERE id = ${id}`)
          assert.deepEqual(texts(inText), [[text]])
          assert.deepEqual(inText.columns, [{ name: 'v', type: oid, modifier }])
          const inBinary = await session.run(`SELECT v FROM ${table} WHERE id = $1`, [String(id)], { result: 1 })
          assert.deepEqual(inBinary.rows[0]?.[0]?.toString('hex'), binary.toString('hex'), text)
        }
      // A reader writes long results.
      const all = await session.run(`SELECT v FROM ${table} AS a ORDER BY id`, [], { result: 1 })
      assert.deepEqual(
        all.rows.map(([cell]) => cell?.toString('hex')),
        values.flatMap(([, binary]) => [binary.toString('hex'), binary.toString('hex')]),
      )
      const unindexed = await session.query(
        `SELECT a.v FROM ${table} AS a JOIN ${table} AS b ON a.id + 0 = b.id + 0 ORDER BY a.id`,
      )
      assert.deepEqual(
        texts(unindexed),
        values.flatMap(([text]) => [[text], [text]]),
      )
      assert.deepEqual(texts(await session.run(`SELECT CAST(NULL AS ${column}) AS v`)), [[null]])
    })

  test('a local timestamp and an interval are results', async () => {
    const statement =
      "SELECT TIMESTAMP '2026-07-01T12:00:00Z' AT TIME ZONE 'Europe/Zurich' AS l, INTERVAL '1 month 3 days 4 hours' AS i"
    const inText = await session.run(statement)
    assert.deepEqual(texts(inText), [['2026-07-01 14:00:00', '1 mon 3 days 04:00:00']])
    assert.deepEqual(
      inText.columns.map(({ type }) => type),
      [1114, 1186],
    )
    const inBinary = await session.run(statement, [], { result: 1 })
    const days = BigInt(Date.UTC(2026, 6, 1, 14) / 1000 - 946_684_800) * 1_000_000n
    const interval = Buffer.concat([int64(4n * 3_600_000_000n), int32(3), int32(1)])
    assert.deepEqual(inBinary.rows[0], [int64(days), interval])
  })

  test('a declared type is an encoding: the value is fitted exactly, or refused', async () => {
    const one = (type: number, sent: string | Buffer, as: string) =>
      session.run(`SELECT CAST($1 AS ${as}) AS v`, [sent], { types: [type] })
    assert.deepEqual(texts(await one(701, float64(45.1), 'Decimal(12, 4)')), [['45.1000']])
    assert.deepEqual(texts(await one(700, float32(0.1), 'Decimal(12, 4)')), [['0.1000']])
    assert.deepEqual(texts(await one(23, int32(7), 'Decimal(12, 4)')), [['7.0000']])
    assert.deepEqual(texts(await one(21, int16(-7), 'Integer')), [['-7']])
    assert.deepEqual(texts(await one(1700, '5.00', 'Integer')), [['5']])
    assert.deepEqual(texts(await one(1184, int64(0n), 'Date')), [['2000-01-01']])
    // As psycopg writes it.
    const id = '123e4567-e89b-12d3-a456-426614174000'
    assert.deepEqual(texts(await one(2950, id.replaceAll('-', ''), 'Uuid')), [[id]])
    assert.equal((await one(1700, '5.01', 'Integer')).errors[0]?.C, '22P02')
    assert.equal((await one(23, Buffer.from([1]), 'Integer')).errors[0]?.C, '22P03')
    assert.equal((await one(701, float64(0.12345), 'Decimal(12, 4)')).errors[0]?.C, '22P02')
  })

  test('arrays are for = ANY and <> ALL', async () => {
    const ids = async (where: string, value: string | Buffer | null, types: number[] = []) => {
      const answer = await session.run(`SELECT id FROM instruments_a WHERE ${where} ORDER BY id`, [value], { types })
      return (
        answer.errors[0]?.C ??
        texts(answer)
          .map(([id]) => id)
          .join()
      )
    }
    await session.query('CREATE TABLE instruments_a (id Integer PRIMARY KEY, name Text)')
    await session.query("INSERT INTO instruments_a (id, name) VALUES (1, 'a'), (2, 'b, \"c\"'), (3, 'd'), (4, NULL)")
    const binary = Buffer.concat([
      int32(1),
      int32(0),
      int32(20),
      int32(2),
      int32(1),
      int32(8),
      int64(1n),
      int32(8),
      int64(3n),
    ])
    assert.equal(await ids('id = ANY($1)', binary, [1016]), '1,3')
    assert.equal(await ids('id = ANY($1)', '{3,1,2}'), '1,2,3')
    assert.equal(await ids('id <> ALL($1)', '{3,1,2}'), '4')
    assert.equal(await ids('name = ANY($1)', '{"b, \\"c\\"",NULL}'), '2')
    assert.equal(await ids('name = ANY($1)', '{}'), '')
    assert.equal(await ids('name <> ALL($1)', '{}'), '1,2,3,4')
    assert.equal(await ids('name = ANY($1)', null), '')
    assert.equal(await ids('id = $1', '{1}', [1016]), '42804')
  })
})

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

function float64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatBE(value)
  return bytes
}

function numeric(groups: readonly number[], weight: number, sign: number, scale: number): Buffer {
  return Buffer.concat([int16(groups.length), int16(weight), int16(sign), int16(scale), ...groups.map(int16)])
}
