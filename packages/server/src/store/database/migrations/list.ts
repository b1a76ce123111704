/** All schema changes in order of application. A released one is never edited. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'
import { identity } from './001-identity.ts'
import { audit } from './002-audit.ts'
import { rateCounts } from './003-rate-counts.ts'
import { nodes } from './004-nodes.ts'
import { userSearch } from './005-user-search.ts'
import { signedIn } from './006-signed-in.ts'
import { setUpLinks } from './007-set-up-links.ts'
import { unusedIndex } from './008-unused-index.ts'
import { openRows } from './009-open-rows.ts'
import { nodeIssuers } from './010-node-issuers.ts'

export interface Migration {
  readonly name: string
  up(db: Kysely<Schema>): Promise<void>
}

export const MIGRATIONS: readonly Migration[] = [
  identity,
  audit,
  rateCounts,
  nodes,
  userSearch,
  signedIn,
  setUpLinks,
  unusedIndex,
  openRows,
  nodeIssuers,
]
