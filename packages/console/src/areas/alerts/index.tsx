/** The area Alerts: the user's alerts, one of them, and the channels of the operators. */
import type { AreaProps } from '../../shell/area.ts'
import { AlertPage } from './alert.tsx'
import './alerts.css'
import { Channels } from './channels.tsx'
import { AlertList } from './list.tsx'

export default function Alerts({ path: [id] }: AreaProps) {
  if (id === undefined) return <AlertList />
  return id === 'channels' ? <Channels /> : <AlertPage key={id} id={id} />
}
