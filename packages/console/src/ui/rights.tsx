/** What scopes allow, in the words of the consent page. The code is second: it is for those who write statements and programs. */
import { Badge } from './notice.tsx'

const RIGHTS: ReadonlyMap<string, string> = new Map([
  ['openid', 'Know who the user is'],
  ['profile', 'See name, language and time zone'],
  ['email', 'See the e-mail address'],
  ['address', 'See the postal address'],
  ['phone', 'See the phone number'],
  ['roles', 'See the names of the roles'],
  ['offline_access', 'Keep access when nobody uses the application: a refresh token'],
  ['Identity/Admin', 'Manage users, roles, applications and keys'],
  ['Identity/Provisioning', 'Provision users and groups over SCIM'],
  ['Platform/Market', 'Read market data'],
  ['Platform/News', 'Read news'],
  ['Platform/Trading', 'Place and change orders'],
  ['Platform/OrderPad', 'Use the order pad'],
  ['Platform/Admin', 'Administer the platform'],
])

/** Undefined for a scope that is declared here, which has no words but its own. */
export function rightText(scope: string): string | undefined {
  return RIGHTS.get(scope)
}

export function Right({ of }: { readonly of: string }) {
  const text = rightText(of)
  if (text === undefined) return <code>{of}</code>
  return (
    <span class="right">
      {text} <code class="quiet">{of}</code>
    </span>
  )
}

/** Several, below each other. */
export function RightList({ of }: { readonly of: readonly string[] }) {
  return (
    <span class="rights">
      {of.map((scope) => (
        <Right key={scope} of={scope} />
      ))}
    </span>
  )
}

/** In the narrow cell of a table. */
export function RightBadges({ of }: { readonly of: readonly string[] }) {
  return (
    <span class="badges">
      {of.map((scope) => (
        <span key={scope} title={scope}>
          <Badge>{rightText(scope) ?? scope}</Badge>
        </span>
      ))}
    </span>
  )
}
