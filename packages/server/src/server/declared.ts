/** Applies the declarative file and the demonstration data: the last step of a start, so that nothing can refuse it later. */
import type { DeclaredDocument } from '../declarative/demo-documents.ts'
import type { Declared } from '../declarative/reconcile.ts'
import type { TablesPort } from '../declarative/tables-port.ts'
import type { Documents } from '../query/saved/documents.ts'
import type { Base } from './base.ts'
import type { Resources } from './resources.ts'

export async function reconcileDeclared(
  declared: Declared | undefined,
  { resources, loadedControllers, logger }: Pick<Base, 'resources' | 'loadedControllers' | 'logger'>,
  query: { readonly tables: TablesPort; readonly documents: Documents } | undefined,
): Promise<void> {
  if (declared === undefined) return
  const { database, stores, audit, masterKey, clock } = resources
  const { tables, documents } = query ?? {}
  const { reconcile, summarise } = await import('../declarative/reconcile.ts')
  const digestKey = masterKey.derive('declared passwords')
  const providerKey = masterKey.derive('providers')
  const env = { database, clock, environment: process.env, tables, digestKey, providerKey, loadedControllers }
  const changes = await reconcile(declared, env)
  if (documents !== undefined) await createDocuments(declared.documents ?? [], documents, stores)
  if (changes.length === 0) return
  logger.info({ source: declared.source, ...summarise(changes) }, 'declaration applied')
  audit.record({ event: 'declaration.applied', details: summarise(changes) })
}

async function createDocuments(
  declared: readonly DeclaredDocument[],
  documents: Documents,
  { users }: Resources['stores'],
): Promise<void> {
  for (const { id, owner, ...document } of declared) {
    const user = await users.findByUsername(owner)
    if (user !== undefined) await documents.createIfAbsent(id, user.id, document)
  }
}
