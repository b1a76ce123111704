/** A table of 5,000 numbers, a query of it that does not end, and a client that does not read its result. */
import { connect, type Socket } from 'node:net'
import type { QueryServer } from './query-server.ts'

/** About 10^12 rows. */
export const ENDLESS =
  'SELECT count(*) AS n FROM nums a CROSS JOIN nums b CROSS JOIN nums c CROSS JOIN nums d WHERE a.n + b.n + c.n + d.n < 0'

export async function createNums(server: QueryServer): Promise<void> {
  await server.service.tables.create({
    name: 'nums',
    description: '',
    columns: [
      { name: 'n', type: 'Integer', primaryKey: true, nullable: false, unique: false },
      { name: 't', type: 'Text', primaryKey: false, nullable: true, unique: false },
    ],
    readScope: null,
    writeScope: 'Platform/Market',
    rowFilter: null,
    live: true,
  })
  const rows = Array.from({ length: 5000 }, (_row, n) => [String(n), 'x'.repeat(40)])
  await server.service.tables.insert('nums', ['n', 't'], rows)
}

/** A socket that has sent a query and reads nothing until asked. */
export function sendQuery({ url }: QueryServer, sql: string, as: string, headers = ''): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  socket.write(
    `POST /query HTTP/1.1\r\nHost: x\r\n${headers}Accept: application/x-ndjson\r\nAuthorization: Bearer ${as}\r\nContent-Type: text/plain\r\nContent-Length: ${sql.length}\r\n\r\n${sql}`,
  )
  return socket
}
