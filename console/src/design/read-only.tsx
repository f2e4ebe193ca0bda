import { createContext, type ReactNode, useContext } from 'react';

const Context = createContext(false);

/** Whether what stands here may be read and not changed. */
export const useReadOnly = (): boolean => useContext(Context);

/** Fields within keep what they show, and buttons that change something are left out. */
export function ReadOnly({ on, children }: { on: boolean; children: ReactNode }) {
  return <Context value={on}>{children}</Context>;
}
