/** The condition of a commit of the keeper in PostgreSQL. */
import type { ClientBase } from 'pg'
import { isOfTerm, KEEPER, type KeeperTerm, TermLost } from '../keeper-lease.ts'
import { buildStatement } from '../service-store.ts'
import { SCHEMA } from './representation.ts'

/**
 * In a transaction on a connection of the owner, shortly before its COMMIT: until then no node can take over, nor renew the term. Throws
 * `TermLost`.
 */
export async function requireTerm(client: ClientBase, term: KeeperTerm): Promise<void> {
  const { sql, parameters } = buildStatement(
    (value) => `SELECT 1 FROM ${SCHEMA}.${KEEPER} WHERE ${isOfTerm(term, value)} FOR SHARE`,
    (position) => `$${position}`,
  )
  if ((await client.query(sql, [...parameters])).rowCount === 0) throw new TermLost()
}
