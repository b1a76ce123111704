/** The rights that an application may ask for. */

import { type Scope, useScopes } from '../../admin/scopes.ts'
import { Await, Checkboxes } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'

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
      <legend>Scopes</legend>
      <p class="hint">{about}</p>
      <Await of={useScopes()}>
        {(found) => (
          <Checkboxes
            items={found.filter(offered).map(({ name, resource }) => ({
              name,
              label: <code>{name}</code>,
              hint: MEANINGS[name] ?? ownMeaning(resource),
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

const MEANINGS: Readonly<Record<string, string>> = {
  openid: 'Who the user is',
  profile: 'Name, language, time zone',
  email: 'E-mail address',
  roles: 'Names of the roles',
  offline_access: 'A refresh token, which outlives the browser session',
  'Identity/Admin': 'Administer users, roles and applications',
  'Platform/Market': 'Market data',
  'Platform/News': word('News'),
  'Platform/Trading': 'Trades and quotes',
  'Platform/OrderPad': word('Orders'),
  'Platform/Admin': 'Administer the platform',
  'Identity/Provisioning': 'Provision users and groups over SCIM',
}
