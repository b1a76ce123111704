/** Roles, which give scopes to users. */
import { DECISIONS_SCOPE, LONGEST_NAME, NAME, PROVISIONING_SCOPE, SCOPES } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { mergePatch } from '../lib/merge-patch.ts'
import { closed, flag, list, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Role } from '../store/accounts/roles.ts'
import { putRole } from '../store/scim/provisioned-roles.ts'
import { APIS, describeUnknownScope, LONGEST_SCOPE, SCOPE_NAME } from './apis.ts'
import type { Known, Resource } from './define-resource.ts'
import { refuseEntitled } from './entitlement-uses.ts'

export type DeclaredRole = XStatic<typeof ROLE>

/** The error message of the pattern of names of roles and users. */
export const NAME_PATTERN = [NAME.source, 'must not contain control characters, or begin or end with a space'] as const

const ROLE = closed(['name'], {
  name: text({ pattern: NAME.source, maxLength: LONGEST_NAME }),
  scopes: shortList(
    text({ pattern: SCOPE_NAME.source, maxLength: LONGEST_SCOPE, examples: SCOPES }),
    'The scopes that the role gives: built-in ones, and those of APIs.',
  ),
  description: words('The purpose of the role.'),
  require_second_factor: flag('Users with this role must sign in with a second factor.'),
  provisioned: flag('SCIM clients see the role as a group, and may give it to users. Default: as it is.'),
})

export const ROLES = {
  noun: 'role',
  section: 'roles',
  isBeforeTables: true,
  key: 'name',
  scope: 'Identity/Admin',
  list: list(ROLE),
  patterns: [NAME_PATTERN, ...APIS.patterns],
  toItem: (declared, before) => keepProvisioned(toRole(declared), before),
  present: ({ name, scopes, description, requireSecondFactor, provisioned }) => ({
    name,
    scopes,
    ...(description !== '' && { description }),
    require_second_factor: requireSecondFactor,
    ...(provisioned === true && { provisioned }),
  }),
  declare: ({ name, scopes, description, requireSecondFactor, provisioned }) => ({
    name,
    ...(description !== '' && { description }),
    scopes: [...scopes],
    ...(requireSecondFactor && { require_second_factor: true }),
    ...(provisioned === true && { provisioned }),
  }),
  // Removing the mark is saying false.
  merge: (role, patch) => mergePatch(role, patch.provisioned === null ? { ...patch, provisioned: false } : patch),
  namedScopes: ({ scopes }) => scopes,
  refersTo: ['scopes'],
  faults: roleFaults,
  refusal: async ({ name }, after, { stores }) =>
    after === undefined ? refuseEntitled('role', name, stores) : undefined,
  isNewerThanNodes: ({ provisioned }) => provisioned === true,
  store: ({ roles }) => roles,
  put: async (role, { stores, revocations }) => {
    await putRole(role, stores, revocations)
    return undefined
  },
  settle: (kind, { stores, revocations }) => revocations.limitRoles(stores, kind),
  routes: {
    list: 'Lists roles page by page, ordered by name.',
    pages: { things: 'Roles' },
    create: 'Creates a role.',
    show: 'Shows a role, and how many users have it, up to 10,000.',
    change: 'Changes a role (JSON merge patch). The tokens of its holders change at once.',
    remove: 'Deletes a role. Its holders lose its scopes at once.',
    instead: 'create another role',
    replies: { show: 'The role, with users: {"count", "more"}.' },
  },
  commands: {
    argument: 'ROLE',
    options: {
      '--scope': {
        member: 'scopes',
        value: 'SCOPE',
        repeatable: true,
        help: 'a scope that the role grants; repeatable',
      },
      '--description': { value: 'TEXT', help: 'what the role is for' },
      '--second-factor': {
        member: 'require_second_factor',
        value: 'true|false',
        help: 'whether users with this role need a second factor',
      },
      '--provisioned': {
        value: 'true|false',
        help: 'whether SCIM clients see it as a group, and may give it to users',
      },
    },
    columns: ['name', 'scopes', 'require_second_factor', 'provisioned', 'description'],
    list: { summary: 'Lists roles.', examples: ['role list'] },
    add: {
      summary: 'Creates a role.',
      examples: ['role add trader --scope Platform/Trading --scope Platform/Market'],
    },
    set: {
      summary: 'Changes a role, with immediate effect for the users who have it.',
      examples: ['role set trader --scope Platform/Trading'],
    },
    remove: {
      summary: 'Deletes a role; users who have it lose its scopes.',
      examples: ['role remove trader --yes'],
      confirm: (role) => `Delete the role ${role} and withdraw its scopes from all users who have it?`,
      done: (role) => `The role ${role} was deleted.`,
    },
  },
} as const satisfies Resource<Role, DeclaredRole>

function roleFaults({ scopes = [] }: DeclaredRole, { scopes: known }: Pick<Known, 'scopes'>): Fault[] {
  return scopes.flatMap((scope, index) => {
    const path = `scopes[${index}]`
    if (scope === PROVISIONING_SCOPE || scope === DECISIONS_SCOPE)
      return [{ path, text: `${scope} cannot be given by a role: register the client for it` }]
    return known.has(scope) ? [] : [{ path, text: describeUnknownScope(scope, known.scopes()) }]
  })
}

function toRole(role: DeclaredRole): Role {
  return {
    name: role.name,
    scopes: role.scopes ?? [],
    description: role.description ?? '',
    requireSecondFactor: role.require_second_factor ?? false,
    ...(role.provisioned !== undefined && { provisioned: role.provisioned }),
  }
}

/** Whether it is a group of SCIM stays as it is unless the file says so. A patch has been applied to what was before. */
function keepProvisioned(declared: Role, before: Role | undefined): Role {
  if (before === undefined) return declared
  const { provisioned, ...role } = declared
  const is = before.provisioned ?? false
  if (provisioned === false && is) return { ...role, provisioned }
  return provisioned === true || is ? { ...role, provisioned: true } : role
}
