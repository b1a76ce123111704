/** The APIs that take access tokens of this server. */
import type { AdminApi } from '../../../../../client/src/index.ts'
import { PagedTable } from '../../../admin/list.tsx'
import { usePages } from '../../../admin/pages.ts'
import { href } from '../../../shell/router.ts'
import { Badge, ButtonLink, Empty, Page } from '../../../ui/index.ts'
import { ApplicationTabs } from '../tabs.tsx'

export function Apis() {
  const apis = usePages<AdminApi>('/admin/apis?limit=50')
  const declare = (
    <ButtonLink kind="primary" icon="plus" href={href('applications', 'apis', 'new')}>
      New API
    </ButtonLink>
  )
  return (
    <Page title="APIs" bar={<ApplicationTabs current="apis" />} actions={declare}>
      <PagedTable
        of={apis}
        label="APIs"
        rowKey={({ resource }) => resource}
        rowHref={({ resource }) => href('applications', 'apis', resource)}
        columns={[
          {
            title: 'API',
            cell: ({ name, resource }) => (
              <>
                {name}
                {name !== resource && <code class="application-id">{resource}</code>}
              </>
            ),
          },
          {
            title: 'Scopes',
            cell: ({ scopes }) => (
              <span class="badges">
                {scopes.map(({ name }) => (
                  <Badge key={name}>{name}</Badge>
                ))}
              </span>
            ),
          },
          { title: 'Claims', wide: true, cell: ({ claims = [] }) => claims.join(', ') },
        ]}
        empty={
          <Empty icon="application" title="There are no APIs yet" actions={declare}>
            Declare an API to issue access tokens for a program of your own, with scopes that roles grant.
          </Empty>
        }
      />
    </Page>
  )
}
