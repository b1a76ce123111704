/** The roles. */
import type { AdminRole } from '../../../../client/src/index.ts'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { href } from '../../shell/router.ts'
import { Badge, ButtonLink, Empty, Page } from '../../ui/index.ts'
import { RightBadges } from '../../ui/rights.tsx'
import { PeopleTabs } from './tabs.tsx'

export function Roles() {
  const roles = usePages<AdminRole>('/admin/roles?limit=50')
  return (
    <Page
      title="Roles"
      bar={<PeopleTabs current="roles" />}
      actions={
        <ButtonLink kind="primary" icon="plus" href={href('people', 'roles', 'new')}>
          New role
        </ButtonLink>
      }
    >
      <PagedTable
        of={roles}
        label="Roles"
        rowKey={({ name }) => name}
        rowHref={({ name }) => href('people', 'roles', name)}
        columns={[
          { title: 'Role', cell: ({ name }) => name },
          { title: 'Purpose', wide: true, cell: ({ description }) => description ?? <span class="quiet">–</span> },
          {
            title: 'Rights',
            cell: ({ scopes }) => <RightBadges of={scopes} />,
          },
          {
            title: 'Second factor',
            wide: true,
            cell: ({ require_second_factor: isRequired }) => (isRequired ? <Badge kind="accent">Required</Badge> : ''),
          },
          {
            title: 'Provisioning',
            wide: true,
            cell: ({ provisioned }) => (provisioned === true ? <Badge>SCIM group</Badge> : ''),
          },
        ]}
        empty={
          <Empty icon="shield" title="There are no roles yet">
            A role grants scopes to the users who have it.
          </Empty>
        }
      />
    </Page>
  )
}
