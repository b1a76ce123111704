/** The tabs of the area: alerts, and for operators channels. */
import { may } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Tabs } from '../../ui/index.ts'

export function AlertTabs({ current }: { readonly current: 'alerts' | 'channels' }) {
  if (!may('Platform/Admin')) return null
  return (
    <Tabs
      label="Alerts"
      tabs={[
        { title: 'Your alerts', href: href('alerts'), current: current === 'alerts' },
        { title: 'Channels', href: href('alerts', 'channels'), current: current === 'channels' },
      ]}
    />
  )
}
