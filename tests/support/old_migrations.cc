#include "tests/support/old_migrations.h"

namespace onceward::support {

std::string record_old_migrations(const std::string& schema) {
    return "DELETE FROM " + schema + ".schema_migrations; INSERT INTO " + schema +
           ".schema_migrations (number, name, checksum) VALUES "
           "(1, 'initial', "
           "'e5d9c580fc3458c2e22a744c97f5e668fd55991f41f56af10b0306a40c278eda'),"
           "(2, 'rotation', "
           "'fbf70edf5860620e07cf0af2177ad433fd522b81a4f364346b6235f028d6ce42'),"
           "(3, 'pauses', "
           "'b4f9838d8acddb3ba73198bd427722f4c0ff0c799c77cd11bcd3c8b1bfbf1f63'),"
           "(4, 'dead_letter_order', "
           "'aa1f08866170e98da74627bde68e7e19869bf696de3a3a6b97a7b0ec83f8b6d1'),"
           "(5, 'log_ledgers', "
           "'19d3e89d11646630e06270bcb55a083e8defd6bce0296ce017ad13e5909e7d96'),"
           "(6, 'partition_suspects', "
           "'656bcd38e1cd86ef0e22bb5465bfa566da1364150ca9fd1703b2ded333b26eec'),"
           "(7, 'log_segments', "
           "'525eadcd8f70fdbf570a9b4a5c485c7b5ed2c098f4a0373d9b695f6a5714759c'),"
           "(8, 'segments_of_partitions', "
           "'3c7fee02c030bc27b615e035b2ca318a53d469aec59fd9d03a914b9d7edeb358'),"
           "(9, 'conflicts', "
           "'cc27a57d482ade7f66a84267458bc5cc3e4901a708e901489cf64293738acd93'),"
           "(10, 'by_hand', "
           "'c4066859af440480ecdf88be919b63a5211278127c13bbdcac54f89b4e44d587'),"
           "(11, 'outbox', "
           "'793926063dfe478cd55cfa9190fc01b756829eda5f71860c3cab1b1610de9465'),"
           "(12, 'results', "
           "'949a2d01604b1bcddb4bdc76ac75d6a8104d01e4e7a151e0e65bc7812b3f138b'),"
           "(13, 'leases', "
           "'25378a3feb1cbc7bec8dbb78a79f360daadc86a654448932c46b684436e25426'),"
           "(14, 'replay', "
           "'7e23b5ca62dfe2a44a526e1d750a476805107a24bc7efc937f7cab9d0d81dde2'),"
           "(15, 'answers_of_deleted_leases', "
           "'5239c6be1be6dee365370eb418a1db45a7811964bab470cf5dd0b331fafb2148'),"
           "(16, 'open_replays', "
           "'95f62e32ca68bfb7f18307a07d65f6baadb00e1e9bd5ef2cb34432daa68fe85c'),"
           "(17, 'fence_moves', "
           "'ed9307f4bc711c368f332ed69a7400d8286f50ed8bf6b0f68c1bcb41962593a6')";
}

}  // namespace onceward::support
