/** The rights that an application may ask for. */

import { type Scope, useScopes } from '../../admin/scopes.ts'
import { Await, Checkboxes } from '../../ui/index.ts'
import { Right, rightText } from '../../ui/rights.tsx'

export function ScopeChoice({
  about,
  scopes,
  onScopes,
  offered = () => true,
}: {
  readonly about: string
  readonly scopes: readonly string[]
  readonly onScopes: (scopes: readonly string[]) => void
  readonly offered?: (scope: Scope) => boolean
}) {
  return (
    <fieldset class="choices">
      <legend>Rights</legend>
      <p class="hint">{about}</p>
      <Await of={useScopes()}>
        {(found) => (
          <Checkboxes
            items={found.filter(offered).map(({ name, resource }) => ({
              name,
              label: <Right of={name} />,
              hint: rightText(name) === undefined ? ownMeaning(resource) : undefined,
            }))}
            chosen={scopes}
            onChosen={onScopes}
          />
        )}
      </Await>
    </fieldset>
  )
}

/** Of a scope that is declared here: which API it is of. */
function ownMeaning(resource: string | null): string | undefined {
  if (resource === null) return undefined
  return resource === 'platform' ? 'Tables, feeds and topics of the platform' : resource
}
