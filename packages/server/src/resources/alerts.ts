/** Alerts as administrators and declarative files have them. Their owners make and change them at /alerts. */
import { Refusal } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, list, text } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { usernameKey } from '../store/accounts/user.ts'
import type { Alert } from '../store/alerts/alert.ts'
import { newId } from '../store/keys/opaque.ts'
import type { Stores } from '../store/stores.ts'
import {
  ALERT_MEMBERS,
  ALERT_PATTERNS,
  alertFaults,
  declareAlert,
  isAddress,
  toAlertDefinition,
} from './alert-shape.ts'
import { type ItemChange, type JsonObject, joinKey, type Resource } from './define-resource.ts'

type DeclaredOwnAlert = XStatic<typeof OWN_ALERT>

const OWN_ALERT = closed(['owner', 'name', 'statement'], {
  owner: text({ minLength: 1, maxLength: 256, description: 'A username: the alert has the rights of this user.' }),
  ...ALERT_MEMBERS,
})

/** What administrators may change. */
const OF_ADMINISTRATORS = ['paused', 'owner']

export const ALERTS = {
  noun: 'alert',
  section: 'alerts',
  key: 'id',
  makeKey: alertKey,
  foldKey: foldAlertKey,
  addressKey: ({ id }) => id,
  scope: 'Platform/Admin',
  list: list(OWN_ALERT, 'Alerts: live queries of users that tell what begins and ends.'),
  patterns: ALERT_PATTERNS,
  toItem: toAlert,
  present: (alert) => ({ ...declareOwn(alert), id: alert.id, paused: alert.definition.paused }),
  declare: declareOwn,
  compare: declareOwn,
  namedScopes: 'none',
  faults: (declared) => alertFaults(declared),
  requestFaults: changeFaults,
  isLarge: true,
  isNewerThanNodes: () => true,
  store: ({ alerts }) => alerts,
  put: putAlert,
  changedEvent: 'alerts-changed',
  isExportedIfAny: true,
  auditDetails: ({ name }) => ({ name }),
  routes: {
    list: 'Lists the alerts of all users page by page, by owner and name, with their states and without rows.',
    pages: { things: 'Alerts', after: 'The owner and the name of the last one.' },
    show: 'Shows an alert and its state, without rows.',
    change: 'Pauses an alert, or hands it over (JSON merge patch): it is paused until its new owner resumes it.',
    remove: 'Deletes an alert of any user.',
    instead: 'its owner makes another alert',
  },
} as const satisfies Resource<Alert, DeclaredOwnAlert>

/** The owner and the name: `alice/Wide%20spread`. */
function alertKey(item: Alert | DeclaredOwnAlert): string {
  return joinKey(['ownerName' in item ? (item.ownerName ?? item.owner) : item.owner, item.name])
}

function foldAlertKey(key: string): string {
  const [owner = '', name = ''] = key.split('/').map(decodeURIComponent)
  return joinKey([usernameKey(owner), name])
}

function toAlert(declared: DeclaredOwnAlert, before?: Alert): Alert {
  const { owner: ownerName, ...rest } = declared
  return {
    id: before?.id ?? newId(),
    owner: before?.owner ?? '',
    ownerName,
    name: declared.name,
    version: before?.version ?? 1,
    created: before?.created ?? 0,
    updated: before?.updated ?? 0,
    rights: before?.rights ?? { clientId: '', scopes: undefined, consented: false },
    definition: toAlertDefinition(rest),
  }
}

function declareOwn({ owner, ownerName = owner, name, definition }: Alert): JsonObject {
  return { owner: ownerName, ...declareAlert(name, definition) }
}

function changeFaults(declared: DeclaredOwnAlert, before: Alert | undefined): Fault[] {
  if (before === undefined) return [{ path: '', text: 'its owner makes it, at /alerts' }]
  const after = new Map(Object.entries(declareOwn(toAlert(declared, before))))
  const was = new Map(Object.entries(declareOwn(before)))
  return [...new Set([...after.keys(), ...was.keys()])].flatMap((path) =>
    OF_ADMINISTRATORS.includes(path) || JSON.stringify(after.get(path)) === JSON.stringify(was.get(path))
      ? []
      : [{ path, text: 'can be changed by its owner only' }],
  )
}

/** A file gives it all rights of its owner. Handed over, it has none until its new owner resumes it. */
async function putAlert(alert: Alert, { stores, before, isDeclared }: ItemChange<Alert>): Promise<undefined> {
  const owner = await findOwner({ ...alert, owner: before?.owner ?? alert.owner }, stores)
  const isHandedOver = before !== undefined && before.owner !== owner
  const taken = isHandedOver ? await stores.alerts.findNamed(owner, alert.name) : undefined
  if (taken !== undefined) throw new Refusal('admin.conflict', 409, `${alert.ownerName} has an alert of this name`)
  const { definition } = alert
  await stores.alerts.put({
    ...alert,
    owner,
    // An item that a request describes has no id and no rights.
    ...(before !== undefined && { id: before.id, rights: before.rights }),
    ...(isDeclared && { rights: { clientId: '', scopes: undefined, consented: false } }),
    ...(isHandedOver &&
      !isDeclared && {
        rights: { clientId: '', scopes: [], consented: false },
        // What the new owner sees is not for addresses of the former one.
        definition: { ...definition, paused: true, channels: definition.channels.filter((name) => !isAddress(name)) },
      }),
  })
}

async function findOwner({ owner, ownerName = '' }: Alert, stores: Stores): Promise<string> {
  const user = await stores.users.findByUsername(ownerName)
  if (user !== undefined) return user.id
  // A client that owns one is called by its id.
  if (owner !== '' && owner === ownerName) return owner
  throw new Refusal('admin.conflict', 409, `There is no user "${ownerName}"`)
}
