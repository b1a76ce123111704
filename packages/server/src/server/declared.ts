/** Applies the declarative file and the demonstration data: the last step of a start, so that nothing can refuse it later. */
import type { DeclaredDocument } from '../declarative/demo-documents.ts'
import type { Declared } from '../declarative/reconcile.ts'
import type { TablesPort } from '../declarative/tables-port.ts'
import type { Mail } from '../mail/mail.ts'
import type { Documents } from '../query/index.ts'
import type { Base } from './base.ts'
import type { Resources } from './resources.ts'
import type { Cleanup } from './watch/cleanup.ts'

interface DeclaringServices {
  readonly query: { readonly tables: TablesPort; readonly documents: Documents } | undefined
  /** Tells users what the file has changed of their accounts. */
  readonly mail: Pick<Mail, 'port'> | undefined
}

export async function reconcileDeclared(
  declared: Declared | undefined,
  { config, resources, loadedControllers, logger }: Pick<Base, 'config' | 'resources' | 'loadedControllers' | 'logger'>,
  { query, mail }: DeclaringServices,
  cleanup: Cleanup,
): Promise<void> {
  stopRetry(resources)
  if (declared === undefined) return
  const { database, stores, audit, masterKey, clock } = resources
  const { tables, documents } = query ?? {}
  const { reconcile, summarise } = await import('../declarative/reconcile.ts')
  const digestKey = masterKey.derive('declared passwords')
  const onDeferred = (sections: readonly string[], olderNodes: readonly string[]) => {
    logger.warn({ sections, olderNodes }, 'parts of the declaration wait until all nodes are upgraded')
    const again = () =>
      reconcileDeclared(declared, { config, resources, loadedControllers, logger }, { query, mail }, cleanup)
    retryWhenUpgraded(resources, again, cleanup, (error) => logger.error({ err: error }, 'declaration not applied'))
  }
  const provisioning = config.scim
  const env = {
    database,
    clock,
    audit,
    mail: mail?.port,
    environment: process.env,
    tables,
    digestKey,
    providerKey: masterKey.derive('providers'),
    loadedControllers,
    provisioning,
    localSignIn: config.localSignIn,
    onDeferred,
  }
  const changes = await reconcile(declared, env)
  if (documents !== undefined) await createDocuments(declared.documents ?? [], documents, stores)
  if (changes.length === 0) return
  logger.info({ source: declared.source, ...summarise(changes) }, 'declaration applied')
  audit.record({ event: 'declaration.applied', details: summarise(changes) })
}

const UPGRADE_CHECK_MS = 2_000
const retries = new WeakMap<Resources, NodeJS.Timeout>()

/** Applies the whole file once no node of an earlier version runs. A file that is read again replaces the one that waits. */
function retryWhenUpgraded(
  resources: Resources,
  again: () => Promise<void>,
  cleanup: Cleanup,
  onError: (error: unknown) => void,
): void {
  const check = async (): Promise<void> => {
    if ((await resources.stores.nodes.older()).length > 0) return
    stopRetry(resources)
    await again()
  }
  const timer = setInterval(() => void check().catch(onError), UPGRADE_CHECK_MS)
  timer.unref()
  retries.set(resources, timer)
  cleanup.add(() => clearInterval(timer))
}

function stopRetry(resources: Resources): void {
  clearInterval(retries.get(resources))
  retries.delete(resources)
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
