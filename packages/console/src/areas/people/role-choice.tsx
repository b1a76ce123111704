/** Roles to choose, with what each gives. */

import type { AdminRole } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Await, Checkbox, useLoad } from '../../ui/index.ts'

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
  const toggle = (name: string, on: boolean) => onRoles(on ? [...roles, name] : roles.filter((role) => role !== name))
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
            found.map(({ name, description, scopes }) => (
              <Checkbox
                key={name}
                label={name}
                hint={[description, scopes.join(', ') || 'no scopes'].filter((part) => part !== undefined).join(' · ')}
                checked={roles.includes(name)}
                onChecked={(on) => toggle(name, on)}
              />
            ))
          )
        }
      </Await>
    </fieldset>
  )
}

async function loadRoles(signal: AbortSignal): Promise<AdminRole[]> {
  const found: AdminRole[] = []
  for await (const role of gate.admin.roles.list({}, { signal })) {
    found.push(role)
    if (found.length === MOST) break
  }
  return found
}
