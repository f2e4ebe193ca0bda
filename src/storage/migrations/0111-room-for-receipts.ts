/**
 * Half of each new page of `messages` is left for later versions of its rows. With 30 % half of the receipts found no
 * room beside the version before, and wrote an entry into each of the table's indexes. Pages that are there keep what
 * they have.
 */
export const UP = `
alter table messages set (fillfactor = 50);
`;
