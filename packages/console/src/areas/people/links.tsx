/** Set-up links: which invitations and resets are open, used or past. */
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { confirmAndAttempt } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Badge, ButtonLink, dangerColumn, Empty, Page, Time } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { PeopleTabs } from './tabs.tsx'
import type { Link } from './types.ts'

const KINDS: Readonly<Record<string, string>> = {
  invitation: word('Invitation'),
  reset: 'New password',
  administrator: 'First administrator',
}

const STATES: Readonly<Record<string, string>> = {
  open: word('open'),
  used: word('used'),
  revoked: word('revoked'),
  expired: word('expired'),
}

export function Links() {
  const links = usePages<Link>('/admin/links?limit=50')
  const revoke = async ({ id, username }: Link) => {
    const isRevoked = await confirmAndAttempt(
      {
        title: 'Revoke this link?',
        text: `It can no longer be used. ${username ?? 'The person'} is not deleted; you can create another link.`,
        action: 'Revoke',
      },
      () => gate.admin.links.delete(id),
      'The link was revoked',
    )
    if (isRevoked) links.reload()
  }
  return (
    <Page
      title="Set-up links"
      bar={<PeopleTabs current="links" />}
      actions={
        <ButtonLink kind="primary" icon="plus" href={href('people', 'new')}>
          Invite
        </ButtonLink>
      }
    >
      <PagedTable
        of={links}
        label="Set-up links"
        rowKey={({ id }) => id}
        columns={[
          {
            title: 'User',
            cell: ({ user, username }) => (user === null ? '–' : <a href={href('people', user)}>{username ?? user}</a>),
          },
          { title: 'Kind', wide: true, cell: ({ kind }) => KINDS[kind] ?? kind },
          {
            title: 'State',
            cell: ({ state }) => <Badge kind={state === 'open' ? 'accent' : undefined}>{STATES[state] ?? state}</Badge>,
          },
          { title: 'Created', wide: true, cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
          { title: 'Expires', cell: ({ expires_at: at }) => <Time at={at} as="relative" /> },
          dangerColumn(({ state }) => (state === 'open' ? word('Revoke') : undefined), revoke),
        ]}
        empty={
          <Empty icon="link" title="There are no set-up links">
            Invitations and links for a new password stay listed for a month after they expire.
          </Empty>
        }
      />
    </Page>
  )
}
