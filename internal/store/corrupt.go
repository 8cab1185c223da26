package store

import "go.mongodb.org/mongo-driver/v2/bson"

// LocksName is the name of the collection of locks.
const LocksName = locksName

// SetCorruptLocks sets the IDs of the locks that are known to be corrupt. They count 0 in sums and unions.
func (s *Store) SetCorruptLocks(ids []bson.RawValue) { s.corrupt.Store(&ids) }

// corruptLocks returns the locks that are known to be corrupt.
func (s *Store) corruptLocks() map[ID]bool {
	locks := map[ID]bool{}
	if known := s.corrupt.Load(); known != nil {
		for _, raw := range *known {
			if id, isID := raw.ObjectIDOK(); isID {
				locks[ID(id)] = true
			}
		}
	}
	return locks
}

// notCorrupt leaves out the locks that are known to be corrupt. An index that has _id covers it.
func (s *Store) notCorrupt() bson.D {
	ids := s.corrupt.Load()
	if ids == nil || len(*ids) == 0 {
		return nil
	}
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$nin", Value: *ids}}}}
}
