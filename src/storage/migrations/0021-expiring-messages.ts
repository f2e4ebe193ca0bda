/** Found expired messages while no carrier accepted any; its index is replaced by 0119-due-groups. */
export const UP = '';
