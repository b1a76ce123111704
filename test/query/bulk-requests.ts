/** Bulk requests as tests send them, and what they leave behind. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestPlace } from '../support/engines.ts'

/** Spool files. */
export const filesIn = async ({ dataFolder }: TestPlace): Promise<number> =>
  (await readdir(join(dataFolder, 'bulk')).catch(() => [])).length

interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>> & {
    readonly Code?: string
    readonly detail?: string
    readonly Rows?: readonly { readonly n?: number }[]
  }
}

export async function post(
  url: string,
  path: string,
  type: string,
  body: string | Buffer,
  as = 'admin',
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': type, connection: 'close' },
    body,
  })
  return { status: response.status, json: (await response.json()) as Answer['json'] }
}

export const count = async (url: string, table = 't'): Promise<unknown> =>
  (await post(url, '/query', 'text/plain', `SELECT count(*) AS n FROM ${table}`)).json.Rows?.[0]?.n

/** Texts that are not in the order of the rows. */
export function csv(rows: number, length: number): string {
  const lines = Array.from({ length: rows }, (_, id) => {
    const text = `${(id * 7919) % rows}-`.padEnd(length, 'x')
    return `${id},${text},${text}`
  })
  return `id,a,b\n${lines.join('\n')}\n`
}
