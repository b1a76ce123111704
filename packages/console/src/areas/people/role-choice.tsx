/** Roles to choose, with what each gives. */

import type { AdminRole } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Await, Checkboxes, useLoad } from '../../ui/index.ts'
import { rightText } from '../../ui/rights.tsx'

/** More roles would be too many to choose from. */
const MOST = 200

export function RoleChoice({
  roles,
  onRoles,
}: {
  readonly roles: readonly string[]
  readonly onRoles: (roles: readonly string[]) => void
}) {
  const all = useLoad(loadRoles, [])
  return (
    <fieldset class="choices">
      <legend>Roles</legend>
      <Await of={all}>
        {(found) =>
          found.length === 0 ? (
            <p class="quiet">
              There are no roles yet. <a href={href('people', 'roles', 'new')}>Create one</a>
            </p>
          ) : (
            <Checkboxes
              items={found.map(({ name, description, scopes }) => ({
                name,
                hint: [description, scopes.map((scope) => rightText(scope) ?? scope).join(', ') || 'no rights']
                  .filter((part) => part !== undefined)
                  .join(' · '),
              }))}
              chosen={roles}
              onChosen={onRoles}
            />
          )
        }
      </Await>
    </fieldset>
  )
}

export async function loadRoles(signal: AbortSignal): Promise<AdminRole[]> {
  const found: AdminRole[] = []
  for await (const role of gate.admin.roles.list({}, { signal })) {
    found.push(role)
    if (found.length === MOST) break
  }
  return found
}
